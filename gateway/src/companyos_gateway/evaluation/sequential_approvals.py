"""The rubrics of work that needs several approvals in order, each given by another person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import FieldSource, RequestChecks
from companyos_gateway.evaluation.approval_rubric import (
    ApprovalRubric,
    CompletedOutcome,
    RefusedOutcome,
)
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.change_policy import Allowance, request_allowances
from companyos_gateway.evaluation.evidence import Evidence
from companyos_gateway.evaluation.goals import Goal
from companyos_gateway.evaluation.milestones import Milestone, milestone, shared_milestones
from companyos_gateway.evaluation.mismatch import Mismatch, row_path
from companyos_gateway.evaluation.rubric import Check
from companyos_shared.wire.company import Company


class SequentialApprovalRubric(ApprovalRubric):
    """Rubric base for several approvals. `stages` are the approvals by name; the last one is linked to the ticket."""

    def __init__(
        self,
        case: TicketCase,
        company: Company,
        *,
        stages: Mapping[str, RequestChecks],
        allowances: Iterable[Allowance],
        goals: Sequence[Goal] = (),
    ) -> None:
        self.names = tuple(stages)
        self.stages = tuple(stages.values())
        own = [allowance for rules in self.stages for allowance in request_allowances(rules)]
        super().__init__(case, company, requests=self.stages[-1], allowances=[*allowances, *own], goals=goals)

    def is_valid_request(self, evidence: Evidence, request: row_views.RequestView) -> bool:
        """Return whether a request belongs to a stage and is valid."""
        return any(rules.owns(request) and rules.is_valid(evidence, request) for rules in self.stages)

    def forbidden_checks(self) -> Iterable[Check]:
        """Return the checks that no request of any stage ever contained wrong or stale values."""
        for name, rules in zip(self.names, self.stages, strict=True):
            yield rules.fabricated_check(f"nothing_fabricated_for_{name}")
            if rules.timestamp_field is not None:
                yield rules.stale_check(f"nothing_stale_used_for_{name}")


class SequentialCompletedOutcome(SequentialApprovalRubric, CompletedOutcome):
    """Outcome: the work is completed with every approval given in order."""

    def approval_checks(self) -> Iterable[Check]:
        """Return the checks on the approvals and on the changes that follow them."""
        for stage_index, name in enumerate(self.names[:-1]):
            rules, approved = self.stages[stage_index], partial(self.approved_request_at, stage_index=stage_index)
            yield rules.approval_check(f"{name}_given", approved, caused_by=self._causes_of_stage(stage_index))
            yield rules.single_check(f"no_second_{name}")
        for check in super().approval_checks():
            causes = self._causes_of_stage(len(self.stages) - 1) if check.id == "approval_given" else check.caused_by
            yield replace(check, caused_by=causes)
        yield Check("approvers_differ", True, self.find_same_approver)

    def _causes_of_stage(self, stage_index: int) -> tuple[str, ...]:
        """Return the checks that a stage depends on: those of its values, and of the approvals before it."""
        name = self.names[stage_index]
        before = [f"{earlier}_given" for earlier in self.names[:stage_index]]
        return (f"nothing_fabricated_for_{name}", f"nothing_stale_used_for_{name}", *before)

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestones of this outcome; the stages share the usual points."""
        if any(rules.timestamp_field is not None for rules in self.stages):
            yield milestone("fresh_value", self.has_fresh_value)
        for kind, is_reached in (("submitted", self.is_stage_submitted), ("approved", self.is_stage_approved)):
            parts = {f"{kind}_{name}": partial(is_reached, stage_index=index) for index, name in enumerate(self.names)}
            yield from shared_milestones(kind, parts)
        if self.goals and all(rules.timestamp_field is None for rules in self.stages):
            yield milestone("recorded", self.was_recorded_after_approval)

    def valid_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return a valid active request of the last stage, submitted after the approvals before it, or None."""
        return self.valid_request_at(evidence, len(self.stages) - 1)

    def valid_request_at(self, evidence: Evidence, stage_index: int) -> row_views.RequestView | None:
        """Return a valid active request of a stage, submitted after the approvals before it, or None."""
        rules = self.stages[stage_index]
        found = (one for one in rules.active_requests(evidence) if rules.is_valid(evidence, one))
        return next(
            (
                one
                for one in found
                if stage_index == 0 or self.was_submitted_after(evidence, one, stage_index=stage_index - 1)
            ),
            None,
        )

    def approved_request_at(self, evidence: Evidence, stage_index: int) -> row_views.RequestView | None:
        """Return the approved request of a stage, None if there is none."""
        request = self.valid_request_at(evidence, stage_index)
        is_stage_approved = request is not None and self.stages[stage_index].is_approved(evidence, request)
        return request if is_stage_approved else None

    def first_approved_request(self, evidence: Evidence) -> row_views.RequestView | None:
        """Return the approved request of the first stage, None if there is none."""
        return self.approved_request_at(evidence, 0)

    def was_submitted_after(self, evidence: Evidence, request: row_views.RequestView, *, stage_index: int) -> bool:
        """Return whether a request was submitted after a stage was approved."""
        before = self.approved_request_at(evidence, stage_index)
        if before is None:
            return False
        made = evidence.row_changes(row_views.APPROVALFLOW, "requests", request.id)[0]
        return evidence.was_approved(before.id, made.step)

    def is_stage_submitted(self, evidence: Evidence, *, stage_index: int) -> bool:
        """Return whether a stage has a valid active request."""
        return self.valid_request_at(evidence, stage_index) is not None

    def is_stage_approved(self, evidence: Evidence, *, stage_index: int) -> bool:
        """Return whether a stage is approved."""
        return self.approved_request_at(evidence, stage_index) is not None

    def has_fresh_value(self, evidence: Evidence) -> bool:
        """Return whether an active request with a timestamp is accurate and fresh."""
        return any(
            rules.is_accurate(evidence, one.id) and rules.is_fresh(evidence, one.id)
            for rules in self.stages
            if rules.timestamp_field is not None
            for one in rules.active_requests(evidence)
        )

    def find_same_approver(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if one person has given two of the approvals."""
        approved: dict[str, str] = {}
        for stage_index in range(len(self.stages)):
            request = self.approved_request_at(evidence, stage_index)
            if request is not None and (earlier := approved.setdefault(request.approver_id, request.id)) != request.id:
                path = row_path(row_views.APPROVALFLOW, "requests", request.id)
                return Mismatch(
                    path, f"approved by a person other than {earlier}", f"approver_id: {request.approver_id}"
                )
        return None


class SequentialRefusedOutcome(SequentialApprovalRubric, RefusedOutcome):
    """Outcome: the ticket is cancelled for the reason, and nothing is approved at any stage."""

    def approval_checks(self) -> Iterable[Check]:
        """Return the checks that no request of any stage is active."""
        for name, rules in zip(self.names, self.stages, strict=True):
            yield rules.none_check(f"nothing_approved_for_{name}")

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket if it was closed, and each request that was approved nevertheless."""
        yield from super().task_damage(evidence)
        for rules in self.stages[:-1]:
            for request in rules.requests(evidence):
                if request.status == "approved":
                    yield f"{row_views.APPROVALFLOW}.requests[{request.id}]"

    def own_request_ids(self, evidence: Evidence) -> Iterable[str]:
        """Return the ids of the task's own requests at every stage."""
        return [one.id for rules in self.stages for one in rules.requests(evidence)]


def approved_request_source(rules: RequestChecks) -> FieldSource:
    """Return the id of the approved request of an earlier stage, as the system of record of a field."""

    def approved_id(evidence: Evidence, step: int) -> str | None:
        requests = rules.requests(evidence)
        return next((request.id for request in requests if evidence.was_approved(request.id, step)), None)

    return approved_id
