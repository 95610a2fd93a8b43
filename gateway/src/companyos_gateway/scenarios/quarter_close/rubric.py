"""The rubric of quarter closes: papers settled, parts resolved, true totals approved, the line closed, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from companyos_gateway.evaluation import Check, Evidence, Milestone, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, FieldSource, RequestChecks
from companyos_gateway.evaluation.approval_rubric import CompletedOutcome, RefusedOutcome
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    issue_allowances,
    metric_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.entity_goals import EntityGoal, EntityGoals, RecordInState
from companyos_gateway.evaluation.facts import RequiredFacts, record_shown, ticket_status_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks, constant_source
from companyos_gateway.evaluation.milestones import milestone, shared_milestones
from companyos_gateway.evaluation.mismatch import Mismatch, is_touched, list_names
from companyos_gateway.evaluation.ticket_goals import TicketGoal, TicketGoals
from companyos_gateway.scenarios.quarter_close.case import METRIC_KEY, TYPE_KEY, Case, RefusalGround, SettledRecord
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Change


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
        return not self._unsettled_papers(evidence)

    def mismatch(self, evidence: Evidence) -> Mismatch:
        """Return what of the ticket is not as it must be, else what was not settled when it was resolved."""
        if failing := self.goal.failing_sides(evidence):
            return self.goal.mismatch(evidence, failing)
        resolved = self._resolution(evidence)
        expected = f"resolved after {list_names([paper.row_path for paper in self.papers])}"
        found = f"resolved before {list_names(self._unsettled_papers(evidence))}"
        return Mismatch(self.row_path, expected, found, None if resolved is None else resolved.step)

    def _unsettled_papers(self, evidence: Evidence) -> list[str]:
        """Return the papers that were not settled when the ticket was resolved."""
        resolved = self._resolution(evidence)
        if resolved is None:
            return [paper.row_path for paper in self.papers]
        return [paper.row_path for paper in self.papers if not paper.is_met(evidence, step=resolved.step)]

    def _resolution(self, evidence: Evidence) -> Change | None:
        """Return the change that resolved the ticket last."""
        changes = evidence.row_changes(row_views.TICKETDESK, "tickets", self.key)
        resolving = (one for one in reversed(changes) if (one.after or {}).get("status") == "resolved")
        return next((one for one in resolving if is_touched(one, ["status"])), None)

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
        invoices, papers, parts = self.entity_goals
        yield invoices.check()
        yield papers.check()
        yield parts.check(caused_by=(invoices.name, papers.name))
        causes = ("approval_given", *(entity_goals.name for entity_goals in self.entity_goals))
        yield self.complete_request_check("settled_before_request", *self.entity_goals, caused_by=causes)

    def scenario_milestones(self) -> Iterable[Milestone]:
        parts = {name: part for entity_goals in self.entity_goals for name, part in entity_goals.parts()}
        yield from shared_milestones("prepared", parts)

    def find_unfinished_work(self, evidence: Evidence, step: int) -> list[str]:
        """Return what was not settled once a step had been taken."""
        return [row_path for entity_goals in self.entity_goals for row_path in entity_goals.unmet(evidence, step=step)]

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
        yield self.knowledge.check("ground_known")

    def scenario_milestones(self) -> Iterable[Milestone]:
        yield milestone("quarter_declined", self.was_declined)

    def was_declined(self, evidence: Evidence) -> bool:
        """Say whether the ticket is cancelled for the reason, by somebody who knew it."""
        return self.tickets.is_cancelled_for_reason(evidence) and self.knowledge.were_known(evidence)

    @property
    def knowledge(self) -> RequiredFacts:
        """The facts against a close."""
        case = self.case
        if case.ground is RefusalGround.OVERSPENT:
            return RequiredFacts((record_shown(case.line_id), case.figure.fact()), self.cancellation)
        if case.ground is RefusalGround.CANCELLED_ORDER:
            papers = case.void_id or "", case.void_order_id or ""
            return RequiredFacts(tuple(record_shown(paper, "state") for paper in papers), self.cancellation)
        return RequiredFacts((ticket_status_shown(case.other_key or ""),), self.cancellation)


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
    metrics = [case.figure.spec.metric_id, *case.figure.spec.other_metric_ids]
    yield from metric_allowances(metrics)
    yield from issue_allowances([case.line_id, case.figure.spec.source_id, *metrics], case.refusal)
    yield from request_allowances(requests)
