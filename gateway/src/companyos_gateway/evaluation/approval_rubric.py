"""The rubric of work that needs an approval: it ends resolved with a sound one, or refused with none."""

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
        """Say whether a request is the task's, and sound."""
        return self.requests.owns(request) and self.requests.is_valid(evidence, request)

    def forbidden_checks(self) -> Iterable[Check]:
        """Return the checks on what no request may ever have said."""
        yield self.requests.fabricated_check()
        if self.requests.timestamp_field is not None:
            yield self.requests.stale_check()


class CompletedOutcome(ApprovalRubric, TicketCompletedOutcome):
    """The ticket ends resolved with a sound approval."""

    def approval_checks(self) -> Iterable[Check]:
        """Return the checks on the approval, and on what follows from it."""
        flaws = tuple(check.id for check in self.forbidden_checks())
        yield self.requests.approval_check("approval_given", self.approved_request, caused_by=flaws)
        yield Check("approval_linked", False, self.find_wrong_link, ("approval_given",))
        if self.goals:
            yield Check("records_updated", False, self.find_unmet_goal, ("approval_given",))
            yield Check("updated_after_approval", False, self.find_premature, ("approval_given", "records_updated"))
        yield self.requests.single_check("no_second_request")

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones on the way to this end."""
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
        """Return the task's requests that stand."""
        return self.requests.active_requests(evidence)

    def is_accurate_and_fresh(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Say whether a request is truthful and its evidence fresh."""
        return self.requests.is_accurate(evidence, request.id) and self.requests.is_fresh(evidence, request.id)

    def valid_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return a request that stands and is sound."""
        active_requests = self.active_requests(evidence)
        return next((one for one in active_requests if self.requests.is_valid(evidence, one)), None)

    def approved_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return a sound request that is approved."""
        return evidence.memoize((self, "approved"), lambda: self._find_approved_request(evidence))

    def _find_approved_request(self, evidence: Evidence) -> row_views.RequestView | None:
        request = self.valid_request(evidence)
        return request if request is not None and self.requests.is_approved(evidence, request) else None

    def find_wrong_link(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the ticket does not name the approved request."""
        request = self.approved_request(evidence)
        if request is not None:
            return self.tickets.mismatch(evidence, approval_ref=request.id)
        found = format_value(self.tickets.ticket(evidence).approval_ref)
        return Mismatch(self.tickets.row_path, "approval_ref: the approved request", f"approval_ref: {found}")

    def missing_when_ended(self, evidence: Evidence, change: Change) -> list[str]:
        """Return what was not in place when the ticket was ended."""
        request = self.approved_request(evidence)
        if request is None:
            return ["approval", *super().missing_when_ended(evidence, change)]
        unmet = [goal.row_path for goal in self.goals if not goal.is_met(evidence, request.id, step=change.step)]
        missing = self.tickets.missing_approval_when_ended(evidence, change, request.id)
        return [*super().missing_when_ended(evidence, change), *missing, *unmet]

    def find_unmet_goal(self, evidence: Evidence) -> Mismatch | None:
        """Return what of the records of the task is not as it must be, None if all is."""
        request = self.approved_request(evidence)
        request_id = None if request is None else request.id
        found = [mismatch for goal in self.goals if (mismatch := goal.mismatch(evidence, request_id)) is not None]
        if request is None and not found:
            return Mismatch(self.goals[0].row_path, "changed after the approval", "changed without an approval")
        return first_mismatch(found)

    def complete_request_check(self, check_id: str, *goals: EntityGoals, caused_by: tuple[str, ...]) -> Check:
        """Return the check that all goals were met when the request was made that was approved."""

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
        """Return a record that is not as it must be or was brought there before the approval, None if none is."""
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
        """Say whether every record is as it must be, and was brought there by the approval."""
        return self.find_premature(evidence) is None


class RefusedOutcome(ApprovalRubric, TicketRefusedOutcome):
    """The ticket ends cancelled for the reason with nothing approved, and the same is declared."""

    def approval_checks(self) -> Iterable[Check]:
        """Return the checks on what must not have been granted."""
        yield self.requests.none_check("nothing_approved")

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed, and each request that was approved all the same."""
        yield from super().task_damage(evidence)
        for request in self.requests.requests(evidence):
            if request.status == "approved":
                yield f"{row_views.APPROVALFLOW}.requests[{request.id}]"

    def own_request_ids(self, evidence: Evidence) -> Iterable[str]:
        """Return the ids of the task's own requests."""
        return [one.id for one in self.requests.requests(evidence)]
