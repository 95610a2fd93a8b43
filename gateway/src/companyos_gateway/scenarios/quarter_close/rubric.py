"""The rubric of quarter closes: papers settled, parts resolved, true totals approved, the line closed, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from companyos_gateway.evaluation import Check, Evidence, Milestone, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, FieldSource, RequestChecks
from companyos_gateway.evaluation.approval_rubric import CompletedOutcome, RefusedOutcome
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    metric_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.entity_goals import EntityGoal, EntityGoals, RecordInState
from companyos_gateway.evaluation.goals import RecordGoal, was_record_read
from companyos_gateway.evaluation.metric_checks import MetricChecks, constant_source
from companyos_gateway.evaluation.ticket_goals import TicketGoal, TicketGoals
from companyos_gateway.evaluation.ticket_rubric import predicate_check
from companyos_gateway.scenarios.quarter_close.case import METRIC_KEY, TYPE_KEY, Case, RefusalGround, SettledRecord
from companyos_shared.wire.company import Company

SETTLED_POINTS = 1.0
"""What settled papers and resolved parts pay together."""

DECLINED_POINTS = 4.0


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a close, or of a refusal."""
    return (_Refusal(case, company) if case.must_refuse else _Close(case, company)).rubric()


@dataclass(frozen=True)
class PartResolved:
    """The ticket of a part is resolved, and was resolved when its part was settled."""

    key: str
    papers: tuple[EntityGoal, ...]

    @property
    def row_path(self) -> str:
        """The ticket."""
        return f"{row_views.TICKETDESK}.tickets[{self.key}]"

    @property
    def goal(self) -> TicketGoal:
        """The required final state of the ticket."""
        return TicketGoal(key=self.key, status="resolved")

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the ticket is so, and was brought there last once every paper of the part was settled."""
        if not self.goal.is_met(evidence, step=step):
            return False
        ended = [
            change.step
            for change in evidence.row_changes(row_views.TICKETDESK, "tickets", self.key)
            if (change.before or {}).get("status") != (change.after or {}).get("status") == "resolved"
        ]
        return bool(ended) and all(paper.is_met(evidence, step=ended[-1]) for paper in self.papers)

    def allowances(self) -> Iterable[Allowance]:
        """Return what of the ticket may change."""
        yield from TicketGoals([self.goal]).allowances()

    def is_damaged(self, evidence: Evidence) -> bool:
        """Say whether the ticket was closed or cancelled."""
        return bool(list(TicketGoals([self.goal]).damage(evidence)))


class _Close(CompletedOutcome):
    """The quarter may be closed."""

    def __init__(self, case: Case, company: Company) -> None:
        invoices, papers = _ended(case.invoices), _ended(case.papers)
        parts = zip(case.step_keys, (invoices, papers), strict=True)
        self.entity_goals = (
            EntityGoals("invoices_settled", invoices),
            EntityGoals("papers_settled", papers),
            EntityGoals("parts_resolved", [PartResolved(key, tuple(own)) for key, own in parts]),
        )
        requests = _requests(case, company, self.entity_goals[0])
        allowances = [
            *_allowances(case, requests),
            *(one for entity_goals in self.entity_goals for one in entity_goals.allowances()),
        ]
        spent = {"spent_cents": round(case.figure.spec.value * 100)}
        goal = RecordGoal(record_id=case.line_id, state="closed", fields=spent)
        super().__init__(case, company, requests=requests, allowances=allowances, goals=[goal])

    def scenario_checks(self) -> Iterable[Check]:
        for entity_goals in self.entity_goals:
            yield entity_goals.check()
        yield predicate_check("settled_before_request", self.was_settled_before_request)

    def scenario_milestones(self) -> Iterable[Milestone]:
        share = round(SETTLED_POINTS / sum(len(entity_goals.goals) for entity_goals in self.entity_goals), 3)
        for entity_goals in self.entity_goals:
            yield from entity_goals.milestones(share)

    def was_work_complete(self, evidence: Evidence, step: int) -> bool:
        """Say whether everything was settled once a step had been taken."""
        return all(entity_goals.are_met(evidence, step=step) for entity_goals in self.entity_goals)

    def was_settled_before_request(self, evidence: Evidence) -> bool:
        """Say whether everything was settled when the request was made that was approved."""
        request = self.approved_request(evidence)
        if request is None:
            return False
        made = evidence.row_changes(row_views.APPROVALFLOW, "requests", request.id)[0]
        return self.was_work_complete(evidence, made.step)

    def task_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed or cancelled, and each part that was."""
        yield from super().task_damage(evidence)
        for entity_goals in self.entity_goals:
            yield from entity_goals.damage(evidence)


class _Refusal(RefusedOutcome):
    """The policy does not let the quarter be closed."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = _requests(case, company, EntityGoals("invoices_settled", _ended(case.invoices)))
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests))
        self.case = case

    def scenario_checks(self) -> Iterable[Check]:
        yield predicate_check("ground_known", self.was_ground_known)

    def scenario_milestones(self) -> Iterable[Milestone]:
        yield Milestone("declined", DECLINED_POINTS, self.was_declined)

    def was_declined(self, evidence: Evidence) -> bool:
        """Say whether the ticket is cancelled for the reason, by somebody who knew it."""
        return self.tickets.is_cancelled_for_reason(evidence) and self.was_ground_known(evidence)

    def was_ground_known(self, evidence: Evidence) -> bool:
        """Say whether the agent had seen what speaks against a close when it cancelled the ticket."""
        case, change = self.case, self.tickets.last_transition(evidence, "cancelled")
        if change is None:
            return False
        if case.ground is RefusalGround.OVERSPENT:
            is_read = was_record_read(evidence, case.line_id, before=change.step)
            return is_read and case.figure.was_known(evidence, change)
        if case.ground is RefusalGround.CANCELLED_ORDER:
            papers = (case.void_id or "", case.void_order_id or "")
            return all(evidence.knew(record_id, "state", before=change.step) for record_id in papers)
        return evidence.knew(case.other_key or "", "status", before=change.step)


def _ended(settled: Sequence[SettledRecord]) -> list[EntityGoal]:
    goals = [RecordGoal(record_id=one.record_id, state=one.state, fields=one.fields) for one in settled]
    return [RecordInState(goal) for goal in goals]


def _requests(case: Case, company: Company, invoices: EntityGoals) -> RequestChecks:
    reading = MetricChecks(case.figure.spec)

    def once_settled(given: int) -> FieldSource:
        return lambda evidence, step: given if invoices.are_met(evidence, step=step) else None

    return RequestChecks(
        requester_id=case.agent_id,
        subject=case.line_id,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, case.role, case.approved_cents),
        sources={
            "budget_line_id": constant_source(case.line_id),
            "invoices_cents": once_settled(case.approved_cents),
            "invoices_held": once_settled(case.held),
            METRIC_KEY: reading.value_source(),
            "measured_at": reading.timestamp_source(),
        },
        timestamp_field="measured_at",
        max_age=case.figure.spec.max_age,
    )


def _allowances(case: Case, requests: RequestChecks) -> Iterable[Allowance]:
    yield from ticket_allowances(case)
    yield from metric_allowances([case.figure.spec.metric_id, *case.figure.spec.other_metric_ids])
    yield from request_allowances(requests)
