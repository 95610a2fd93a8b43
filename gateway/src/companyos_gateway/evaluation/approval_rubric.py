"""The rubrics of work that needs an approval: completed with a valid one, or refused without any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import RequestChecks
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.entity_goals import EntityGoals
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.goals import Goal
from companyos_gateway.evaluation.milestones import Milestone, milestone
from companyos_gateway.evaluation.mismatch import Mismatch, first_mismatch, format_value, list_names, row_path
from companyos_gateway.evaluation.rubric import Check
from companyos_gateway.evaluation.ticket_rubric import (
    TicketCompletedOutcome,
    TicketRefusedOutcome,
    TicketRubric,
)
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Change


class ApprovalRubric(TicketRubric):
    """Rubric base for work that needs one approval; scenarios add checks, milestones and damage."""

    def __init__(
        self,
        case: TicketCase,
        company: Company,
        *,
        requests: RequestChecks,
        allowances: Iterable[Allowance],
        goals: Sequence[Goal] = (),
    ) -> None:
        super().__init__(case, company, allowances=[*allowances, *(goal.allowance() for goal in goals)])
        self.requests = requests
        self.goals = goals

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request belongs to the task and is valid."""
        return self.requests.owns(request) and self.requests.is_valid(evidence, request)

    def forbidden_checks(self) -> Iterable[Check]:
        """Return the checks that no request ever contained wrong or stale values."""
        yield self.requests.fabricated_check()
        if self.requests.timestamp_field is not None:
            yield self.requests.stale_check()


class CompletedOutcome(ApprovalRubric, TicketCompletedOutcome):
    """Outcome: the work is completed with a valid approval."""

    def approval_checks(self) -> Iterable[Check]:
        """Return the checks on the approval and on the changes that follow it."""
        flaws = tuple(check.id for check in self.forbidden_checks())
        yield self.requests.approval_check("approval_given", self.approved_request, caused_by=flaws)
        yield Check("approval_linked", False, self.find_wrong_link, ("approval_given",))
        if self.goals:
            yield Check("records_updated", False, self.find_unmet_goal, ("approval_given",))
            yield Check("updated_after_approval", False, self.find_premature, ("approval_given", "records_updated"))
        yield self.requests.single_check("no_second_request")

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of this outcome."""
        if self.requests.timestamp_field is not None:
            yield milestone(
                "fresh_value",
                lambda one: any(self.is_accurate_and_fresh(one, request) for request in self.active_requests(one)),
            )
        yield milestone("submitted", lambda evidence: self.valid_request(evidence) is not None)
        yield milestone("approved", lambda evidence: self.approved_request(evidence) is not None)
        if self.goals and self.requests.timestamp_field is None:
            yield milestone("recorded", self.was_recorded_after_approval)

    def active_requests(self, evidence: Evidence) -> list[row_views.RequestView]:
        """Return the task's active requests."""
        return self.requests.active_requests(evidence)

    def is_accurate_and_fresh(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request is accurate and its evidence fresh."""
        return self.requests.is_accurate(evidence, request.id) and self.requests.is_fresh(evidence, request.id)

    def valid_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return a valid active request, None if there is none."""
        active_requests = self.active_requests(evidence)
        return next((one for one in active_requests if self.requests.is_valid(evidence, one)), None)

    def approved_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return a valid request that is approved, None if there is none."""
        return evidence.memoize((self, "approved"), lambda: self._find_approved_request(evidence))

    def first_approved_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return the approved request that was required first, None if there is none."""
        return self.approved_request(evidence)

    def _find_approved_request(self, evidence: Evidence) -> row_views.RequestView | None:
        request = self.valid_request(evidence)
        return request if request is not None and self.requests.is_approved(evidence, request) else None

    def find_wrong_link(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the ticket does not reference the approved request."""
        request = self.approved_request(evidence)
        if request is not None:
            return self.tickets.mismatch(evidence, approval_ref=request.id)
        found = format_value(self.tickets.ticket(evidence).approval_ref)
        return Mismatch(self.tickets.row_path, "approval_ref: the approved request", f"approval_ref: {found}")

    def missing_when_ended(self, evidence: Evidence, change: Change) -> list[str]:
        """Return the requirements that were not met when the ticket was ended."""
        request = self.approved_request(evidence)
        if request is None:
            return ["approval", *super().missing_when_ended(evidence, change)]
        unmet = [goal.row_path for goal in self.goals if not goal.is_met(evidence, request.id, step=change.step)]
        missing = self.tickets.missing_approval_when_ended(evidence, change, request.id)
        return [*super().missing_when_ended(evidence, change), *missing, *unmet]

    def find_unmet_goal(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if a goal on a record is not met or no request is approved, else None."""
        request = self.approved_request(evidence)
        request_id = None if request is None else request.id
        found = [mismatch for goal in self.goals if (mismatch := goal.mismatch(evidence, request_id)) is not None]
        if request is None and not found:
            return Mismatch(self.goals[0].row_path, "changed after the approval", "changed without an approval")
        return first_mismatch(found)

    def complete_request_check(self, check_id: str, *goals: EntityGoals, caused_by: tuple[str, ...]) -> Check:
        """Return the check that all goals were met when the approved request was submitted."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            request = self.approved_request(evidence)
            expected = "made once the work that it covers was done"
            if request is None:
                return Mismatch(f"{row_views.APPROVALFLOW}.requests", expected, "no approved request")
            made = evidence.row_changes(row_views.APPROVALFLOW, "requests", request.id)[0]
            unmet = [path for one in goals for path in one.unmet(evidence, step=made.step)]
            path = row_path(row_views.APPROVALFLOW, "requests", request.id)
            return Mismatch(path, expected, f"made before {list_names(unmet)}", made.step) if unmet else None

        return Check(check_id, False, find_mismatch, caused_by)

    def find_premature(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if a goal is not met, or was reached before the approval, else None."""
        request = self.approved_request(evidence)
        unmet = self.find_unmet_goal(evidence)
        if request is None or unmet is not None:
            return unmet
        for goal in self.goals:
            if (step := goal.premature_step(evidence, request.id)) is not None:
                expected = f"changed after the approval of {request.id}, and not before its day"
                return Mismatch(goal.row_path, expected, "changed too early", step)
        return None

    def was_recorded_after_approval(self, evidence: Evidence) -> bool:
        """Return whether every goal is met and none was reached before the approval."""
        return self.find_premature(evidence) is None


class RefusedOutcome(ApprovalRubric, TicketRefusedOutcome):
    """Outcome: the ticket is cancelled for the reason with nothing approved, and `finish` declares the refusal."""

    def approval_checks(self) -> Iterable[Check]:
        """Return the check that no request is active."""
        yield self.requests.none_check("nothing_approved")

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket if it was closed, and each request that was approved nevertheless."""
        yield from super().task_damage(evidence)
        for request in self.requests.requests(evidence):
            if request.status == "approved":
                yield f"{row_views.APPROVALFLOW}.requests[{request.id}]"

    def own_request_ids(self, evidence: Evidence) -> Iterable[str]:
        """Return the ids of the task's own requests."""
        return [one.id for one in self.requests.requests(evidence)]
