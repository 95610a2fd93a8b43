"""The rubric of quarter closes: papers settled, parts resolved, true totals approved, the line closed, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from companyos_gateway.rubrics import Check, Evidence, Milestone, TaskRubric, facts
from companyos_gateway.rubrics.allowances import entry_allowances, metric_allowances, request_allowances
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.deskwork import plain_check
from companyos_gateway.rubrics.ends import End, Ends, RecordEnded
from companyos_gateway.rubrics.readings import ReadingRules, constant
from companyos_gateway.rubrics.records import RecordGoal, was_looked_at
from companyos_gateway.rubrics.requests import FieldRecord, RequestRules, Standing
from companyos_gateway.rubrics.ticket_goals import TicketGoal, TicketGoals
from companyos_gateway.rubrics.workflow import Fulfilment, Refused
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
    papers: tuple[End, ...]

    @property
    def place(self) -> str:
        """The ticket."""
        return f"{facts.TICKETDESK}.tickets[{self.key}]"

    @property
    def goal(self) -> TicketGoal:
        """How the ticket must be."""
        return TicketGoal(key=self.key, status="resolved")

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Say whether the ticket is so, and was brought there last once every paper of the part was settled."""
        if not self.goal.is_met(evidence, step=step):
            return False
        ended = [
            change.step
            for change in evidence.row_changes(facts.TICKETDESK, "tickets", self.key)
            if (change.before or {}).get("status") != (change.after or {}).get("status") == "resolved"
        ]
        return bool(ended) and all(paper.is_met(evidence, step=ended[-1]) for paper in self.papers)

    def allowances(self) -> Iterable[Allowance]:
        """Return what of the ticket may change."""
        yield from TicketGoals([self.goal]).allowances()

    def is_spoilt(self, evidence: Evidence) -> bool:
        """Say whether the ticket was closed or cancelled."""
        return bool(list(TicketGoals([self.goal]).damage(evidence)))


class _Close(Fulfilment):
    """The quarter may be closed."""

    def __init__(self, case: Case, company: Company) -> None:
        invoices, papers = _ended(case.invoices), _ended(case.papers)
        parts = zip(case.step_keys, (invoices, papers), strict=True)
        self.ends = (
            Ends("invoices_settled", invoices),
            Ends("papers_settled", papers),
            Ends("parts_resolved", [PartResolved(key, tuple(own)) for key, own in parts]),
        )
        requests = _requests(case, company, self.ends[0])
        allowances = [*_allowances(case, requests), *(one for ends in self.ends for one in ends.allowances())]
        spent = {"spent_cents": round(case.figure.reading.value * 100)}
        goal = RecordGoal(record_id=case.line_id, state="closed", fields=spent)
        super().__init__(case, company, requests=requests, allowances=allowances, goals=[goal])

    def own_checks(self) -> Iterable[Check]:
        for ends in self.ends:
            yield ends.check()
        yield plain_check("settled_before_request", self.was_settled_before_request)

    def own_milestones(self) -> Iterable[Milestone]:
        share = round(SETTLED_POINTS / sum(len(ends.ends) for ends in self.ends), 3)
        for ends in self.ends:
            yield from ends.milestones(share)

    def was_in_place(self, evidence: Evidence, step: int) -> bool:
        """Say whether everything was settled once a step had been taken."""
        return all(ends.are_met(evidence, step=step) for ends in self.ends)

    def was_settled_before_request(self, evidence: Evidence) -> bool:
        """Say whether everything was settled when the request was made that was approved."""
        request = self.approved(evidence)
        if request is None:
            return False
        made = evidence.row_changes(facts.APPROVALFLOW, "requests", request.id)[0]
        return self.was_in_place(evidence, made.step)

    def own_damage(self, evidence: Evidence) -> Iterable[str]:
        """Return the ticket where it was closed or cancelled, and each part that was."""
        yield from super().own_damage(evidence)
        for ends in self.ends:
            yield from ends.damage(evidence)


class _Refusal(Refused):
    """The policy does not let the quarter be closed."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = _requests(case, company, Ends("invoices_settled", _ended(case.invoices)))
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests))
        self.case = case

    def own_checks(self) -> Iterable[Check]:
        yield plain_check("ground_known", self.was_ground_known)

    def own_milestones(self) -> Iterable[Milestone]:
        yield Milestone("declined", DECLINED_POINTS, self.was_declined)

    def was_declined(self, evidence: Evidence) -> bool:
        """Say whether the ticket is cancelled for the reason, by somebody who knew it."""
        return self.tickets.is_cancelled_for_the_reason(evidence) and self.was_ground_known(evidence)

    def was_ground_known(self, evidence: Evidence) -> bool:
        """Say whether the agent had seen what speaks against a close when it cancelled the ticket."""
        case, change = self.case, self.tickets.end(evidence, "cancelled")
        if change is None:
            return False
        if case.ground is RefusalGround.OVERSPENT:
            read = {"record_id": case.line_id}
            is_read = was_looked_at(evidence, facts.DATAHUB, "get_record", before_step=change.step, **read)
            return is_read and case.figure.was_known(evidence, change)
        if case.ground is RefusalGround.CANCELLED_ORDER:
            return all(
                was_looked_at(evidence, facts.DATAHUB, "get_record", before_step=change.step, record_id=record_id)
                for record_id in (case.void_id, case.void_order_id)
            )
        read = {"key": case.other_key or ""}
        return was_looked_at(evidence, facts.TICKETDESK, "get_ticket", before_step=change.step, **read)


def _ended(settled: Sequence[SettledRecord]) -> list[End]:
    goals = [RecordGoal(record_id=one.record_id, state=one.state, fields=one.fields) for one in settled]
    return [RecordEnded(goal) for goal in goals]


def _requests(case: Case, company: Company, invoices: Ends) -> RequestRules:
    reading = ReadingRules(case.figure.reading)

    def once_settled(given: int) -> FieldRecord:
        return lambda evidence, step: given if invoices.are_met(evidence, step=step) else None

    return RequestRules(
        requester_id=case.agent_id,
        subject=case.line_id,
        ticket_key=case.ticket_key,
        standing=Standing(company, TYPE_KEY, case.role, case.approved_cents),
        records={
            "budget_line_id": constant(case.line_id),
            "invoices_cents": once_settled(case.approved_cents),
            "invoices_held": once_settled(case.held),
            METRIC_KEY: reading.value_record(),
            "measured_at": reading.date_record(),
        },
        dated="measured_at",
        max_age=case.figure.reading.max_age,
    )


def _allowances(case: Case, requests: RequestRules) -> Iterable[Allowance]:
    yield from entry_allowances(case)
    yield from metric_allowances([case.figure.reading.metric_id, *case.figure.reading.other_metric_ids])
    yield from request_allowances(requests)
