"""The approvals that a task requires, one after another, each given by another person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import RequestChecks
from companyos_gateway.evaluation.change_policy import Allowance, request_allowances
from companyos_gateway.evaluation.entity_goals import EntityGoals
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.goals import Goal
from companyos_gateway.evaluation.milestones import Milestone, milestone, shared_milestones
from companyos_gateway.evaluation.mismatch import Mismatch, first_mismatch, format_value, list_names
from companyos_gateway.evaluation.rubric import Check
from companyos_gateway.evaluation.ticket_checks import TicketChecks
from companyos_shared.wire.control import Change

REQUESTS = f"{row_views.APPROVALFLOW}.requests"


class ApprovalStages:
    """Approvals in order. `stages` are the checks of their requests by name, and `goals` must be met after the last.

    The last approval is linked to the ticket. The ids of checks and milestones name the stage if there are several.
    """

    def __init__(self, stages: Mapping[str, RequestChecks], goals: Sequence[Goal], tickets: TicketChecks) -> None:
        self.names = tuple(stages)
        self.stages = tuple(stages.values())
        self.goals = goals if stages else ()
        self.tickets = tickets
        self.last = len(stages) - 1

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowances for the agent's requests and for the goals."""
        for rules in self.stages:
            yield from request_allowances(rules)
        for goal in self.goals:
            yield from goal.allowances()

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request belongs to a stage and is valid."""
        return any(rules.owns(request) and rules.is_valid(evidence, request) for rules in self.stages)

    def forbidden_checks(self) -> Iterable[Check]:
        """Return the checks that no request ever contained wrong or stale values."""
        for name, rules in zip(self.names, self.stages, strict=True):
            yield rules.fabricated_check(self._id("nothing_fabricated", name))
            if rules.timestamp_field is not None:
                yield rules.stale_check(self._id("nothing_stale_used", name))

    def given_checks(self) -> Iterable[Check]:
        """Return the checks on the approvals and on the changes that follow them."""
        for stage, (name, rules) in enumerate(zip(self.names, self.stages, strict=True)):
            is_last = stage == self.last
            flaws = [self._id("nothing_fabricated", name)]
            flaws += [self._id("nothing_stale_used", name)] if rules.timestamp_field is not None else []
            yield rules.approval_check(
                "approval_given" if is_last else f"{name}_given",
                partial(self.approved_request, stage=stage),
                caused_by=(*flaws, *(f"{earlier}_given" for earlier in self.names[:stage])),
            )
            if is_last:
                yield from self._final_checks()
            yield rules.single_check("no_second_request" if is_last else f"no_second_{name}")
        if len(self.stages) > 1:
            yield Check("approvers_differ", True, self.find_same_approver)

    def _final_checks(self) -> Iterable[Check]:
        yield Check("approval_linked", False, self._find_wrong_link, ("approval_given",))
        if self.goals:
            yield Check("records_updated", False, self._find_unmet_goal, ("approval_given",))
            yield Check("updated_after_approval", False, self._find_premature, ("approval_given", "records_updated"))

    def refused_checks(self) -> Iterable[Check]:
        """Return the checks that no request is active."""
        for name, rules in zip(self.names, self.stages, strict=True):
            yield rules.none_check(self._id("nothing_approved", name))

    def milestones(self) -> Iterable[Milestone]:
        """Return the milestones of the approvals and the changes that follow them; stages share the usual points."""
        has_timestamp = any(rules.timestamp_field is not None for rules in self.stages)
        if has_timestamp:
            yield milestone("fresh_value", self._has_fresh_value)
        for kind, is_reached in (("submitted", self.is_submitted), ("approved", self.is_approved)):
            names = [f"{kind}_{name}" for name in self.names] if len(self.stages) > 1 else [kind]
            parts = {name: partial(is_reached, stage=stage) for stage, name in enumerate(names)}
            yield from shared_milestones(kind, parts)
        if self.goals and not has_timestamp:
            yield milestone("recorded", lambda evidence: self._find_premature(evidence) is None)

    def damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the requests that were approved although the task is refused."""
        for rules in reversed(self.stages):
            yield from (f"{REQUESTS}[{one.id}]" for one in rules.requests(evidence) if one.status == "approved")

    def request_ids(self, evidence: Evidence) -> list[str]:
        """Return the ids of the agent's requests at every stage."""
        return [one.id for rules in self.stages for one in rules.requests(evidence)]

    def first_submission(self, evidence: Evidence) -> Change | None:
        """Return the change that submitted the approved request of the first stage, None if there is none."""
        request = self.approved_request(evidence, stage=0)
        return None if request is None else _submission(evidence, request.id)

    def is_submitted(self, evidence: Evidence, *, stage: int) -> bool:
        """Return whether a stage has a valid active request."""
        return self._valid_request(evidence, stage) is not None

    def is_approved(self, evidence: Evidence, *, stage: int) -> bool:
        """Return whether a stage is approved."""
        return self.approved_request(evidence, stage=stage) is not None

    def approved_request(self, evidence: Evidence, *, stage: int) -> row_views.RequestView | None:
        """Return the approved valid request of a stage, None if there is none."""
        return evidence.memoize((self, "approved", stage), partial(self._find_approved_request, evidence, stage))

    def final_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return the approved valid request of the last stage, None if there is none."""
        return self.approved_request(evidence, stage=self.last)

    def _find_approved_request(self, evidence: Evidence, stage: int) -> row_views.RequestView | None:
        request = self._valid_request(evidence, stage)
        is_approved = request is not None and self.stages[stage].is_approved(evidence, request)
        return request if is_approved else None

    def _valid_request(self, evidence: Evidence, stage: int) -> row_views.RequestView | None:
        """Return a valid active request of a stage, submitted after the approvals before it, or None."""
        rules = self.stages[stage]
        found = (one for one in rules.active_requests(evidence) if rules.is_valid(evidence, one))
        return next((one for one in found if stage == 0 or self._is_after(evidence, one, stage - 1)), None)

    def _is_after(self, evidence: Evidence, request: row_views.RequestView, stage: int) -> bool:
        """Return whether a request was submitted after a stage was approved."""
        before = self.approved_request(evidence, stage=stage)
        return before is not None and evidence.was_approved(before.id, _submission(evidence, request.id).step)

    def missing_when_ended(self, evidence: Evidence, change: Change, request_id: str) -> list[str]:
        """Return which of the approval, the link to it and the goals were missing when the ticket was ended."""
        unmet = [goal.row_path for goal in self.goals if not goal.is_met(evidence, request_id, step=change.step)]
        return [*self.tickets.missing_approval_when_ended(evidence, change, request_id), *unmet]

    def find_same_approver(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if one person has given two of the approvals."""
        approved: dict[str, str] = {}
        for stage in range(len(self.stages)):
            request = self.approved_request(evidence, stage=stage)
            if request is not None and (earlier := approved.setdefault(request.approver_id, request.id)) != request.id:
                path, found = f"{REQUESTS}[{request.id}]", f"approver_id: {request.approver_id}"
                return Mismatch(path, f"approved by a person other than {earlier}", found)
        return None

    def settled_check(self, prepared: Sequence[EntityGoals]) -> Check:
        """Return the check that all entities were settled when the last approved request was submitted."""

        def find_mismatch(evidence: Evidence) -> Mismatch | None:
            request = self.final_request(evidence)
            expected = "made once the work that it covers was done"
            if request is None:
                return Mismatch(REQUESTS, expected, "no approved request")
            made = _submission(evidence, request.id)
            unmet = [path for one in prepared for path in one.unmet(evidence, step=made.step)]
            path, found = f"{REQUESTS}[{request.id}]", f"made before {list_names(unmet)}"
            return Mismatch(path, expected, found, made.step) if unmet else None

        causes = ("approval_given", *(one.name for one in prepared))
        return Check("settled_before_request", False, find_mismatch, causes)

    def _id(self, name: str, stage_name: str) -> str:
        return f"{name}_for_{stage_name}" if len(self.stages) > 1 else name

    def _has_fresh_value(self, evidence: Evidence) -> bool:
        """Return whether an active request with a timestamp is accurate and fresh."""
        return any(
            rules.is_accurate(evidence, one.id) and rules.is_fresh(evidence, one.id)
            for rules in self.stages
            if rules.timestamp_field is not None
            for one in rules.active_requests(evidence)
        )

    def _find_wrong_link(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the ticket does not reference the approved request."""
        request = self.final_request(evidence)
        if request is not None:
            return self.tickets.mismatch(evidence, approval_ref=request.id)
        found = format_value(self.tickets.ticket(evidence).approval_ref)
        return Mismatch(self.tickets.row_path, "approval_ref: the approved request", f"approval_ref: {found}")

    def _find_unmet_goal(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if a goal on a record is not met or no request is approved, else None."""
        request = self.final_request(evidence)
        request_id = None if request is None else request.id
        found = [mismatch for goal in self.goals if (mismatch := goal.mismatch(evidence, request_id)) is not None]
        if request is None and not found:
            return Mismatch(self.goals[0].row_path, "changed after the approval", "changed without an approval")
        return first_mismatch(found)

    def _find_premature(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if a goal is not met, or was reached before the approval, else None."""
        request = self.final_request(evidence)
        unmet = self._find_unmet_goal(evidence)
        if request is None or unmet is not None:
            return unmet
        for goal in self.goals:
            if (step := goal.premature_step(evidence, request.id)) is not None:
                expected = f"changed after the approval of {request.id}, and not before its day"
                return Mismatch(goal.row_path, expected, "changed too early", step)
        return None


def _submission(evidence: Evidence, request_id: str) -> Change:
    return evidence.row_changes(row_views.APPROVALFLOW, "requests", request_id)[0]
