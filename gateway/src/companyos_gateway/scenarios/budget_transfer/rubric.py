"""The rubric of budget transfers: parts ended, one request for the whole, booked on both lines after the yes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companyos_gateway.evaluation import Check, Evidence, Milestone, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, RequestChecks
from companyos_gateway.evaluation.approval_rubric import (
    ApprovalRubric,
    CompletedOutcome,
    RefusedOutcome,
    predicate_check,
)
from companyos_gateway.evaluation.change_policy import Allowance, request_allowances, ticket_allowances
from companyos_gateway.evaluation.entity_goals import EntityGoals, RequestCancelled, RequestWithdrawn
from companyos_gateway.evaluation.goals import RecordGoal, was_record_read
from companyos_gateway.evaluation.metric_checks import constant_source
from companyos_gateway.scenarios.budget_transfer.case import TYPE_KEY, Case, RefusalGround
from companyos_shared.wire.company import Company

PARTS_POINTS = 1.0
"""What the parts pay together."""


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a transfer, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    booked = {case.giver_id: case.giver_budget_cents, case.taker_id: case.taker_budget_cents}
    goals = [
        RecordGoal(record_id=line, fields={"budget_cents": budget}, do_fields_need_approval=True)
        for line, budget in booked.items()
    ]
    return _Transfer(case, company, goals).rubric()


class _PartsChecked(ApprovalRubric):
    """Both ends put an end to the parts."""

    def __init__(self, case: Case, company: Company, goals: Sequence[RecordGoal] = ()) -> None:
        requests, self.parts = _requests(case, company), _parts(case)
        allowances: list[Allowance] = [
            *ticket_allowances(case),
            *request_allowances(requests),
            *self.parts.allowances(),
        ]
        super().__init__(case, company, requests=requests, allowances=allowances, goals=goals)
        self.case = case

    def scenario_checks(self) -> Iterable[Check]:
        if self.parts.goals:
            yield self.parts.check()

    def scenario_milestones(self) -> Iterable[Milestone]:
        if self.parts.goals:
            yield from self.parts.milestones(round(PARTS_POINTS / len(self.parts.goals), 3))

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        yield from super().task_damage(evidence)
        yield from self.parts.damage(evidence)


class _Transfer(_PartsChecked, CompletedOutcome):
    """The transfer may be done."""

    def scenario_checks(self) -> Iterable[Check]:
        yield from super().scenario_checks()
        if self.parts.goals:
            yield predicate_check("parts_ended_first", self.were_parts_ended_first)

    def were_parts_ended_first(self, evidence: Evidence) -> bool:
        """Say whether every part had come to its end when the whole was asked for."""
        request = self.approved_request(evidence)
        if request is None:
            return False
        submitted = evidence.row_changes(row_views.APPROVALFLOW, "requests", request.id)[0]
        return self.parts.are_met(evidence, step=submitted.step)


class _Refusal(_PartsChecked, RefusedOutcome):
    """The policy does not let it be done."""

    def scenario_checks(self) -> Iterable[Check]:
        yield from super().scenario_checks()
        yield predicate_check("ground_read", self.was_ground_read)

    def was_ground_read(self, evidence: Evidence) -> bool:
        """Say whether the agent had looked at the line that gives, and at both where they do not fit, before."""
        change, case = self.tickets.last_transition(evidence, "cancelled"), self.case
        if change is None:
            return False
        lines = [case.giver_id, case.taker_id] if case.ground is RefusalGround.MIXED else [case.giver_id]
        return all(was_record_read(evidence, line, before=change.step) for line in lines)


def _parts(case: Case) -> EntityGoals:
    withdrawn = [RequestWithdrawn(one) for one in case.own_parts]
    return EntityGoals(
        "parts_ended", [*withdrawn, *(RequestCancelled(one, case.parts_reason) for one in case.others_parts)]
    )


def _requests(case: Case, company: Company) -> RequestChecks:
    return RequestChecks(
        requester_id=case.agent_id,
        subject=case.ticket_key,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, case.role, case.amount_cents),
        sources={
            "from_line": constant_source(case.giver_id),
            "to_line": constant_source(case.taker_id),
            "amount_cents": constant_source(case.amount_cents),
        },
    )
