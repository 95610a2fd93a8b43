"""The rubric of offboardings: tickets, requests, delegations and access of the leaver at their ends, and no others."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.rubrics import Check, Evidence, TaskRubric, facts
from companyos_gateway.rubrics.allowances import entry_allowances, issue_allowances
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.rubrics.deskwork import Declined, plain_check
from companyos_gateway.rubrics.ends import (
    DelegationRevoked,
    Ends,
    RecordEnded,
    RequestCancelled,
    RequestEscalated,
    TicketEnded,
)
from companyos_gateway.rubrics.errand import Errand
from companyos_gateway.rubrics.records import RecordGoal, was_looked_at
from companyos_gateway.rubrics.requests import Standing
from companyos_gateway.rubrics.ticket_goals import TicketGoal
from companyos_gateway.scenarios.employee_offboarding.case import TYPE_KEY, Case
from companyos_shared.wire.company import Company

WITHDRAWN = "withdrawn"


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an offboarding, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    return Errand(case, company, allowances=_allowances(case), ends=_ends(case, company)).rubric()


class _Refusal(Declined):
    """The policy does not let the offboarding take place."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case, company, allowances=_allowances(case))
        self.case = case

    def own_checks(self) -> Iterable[Check]:
        yield plain_check("ground_read", self.was_ground_read)

    def was_ground_read(self, evidence: Evidence) -> bool:
        """Say whether the agent had looked at what speaks against the offboarding before it refused it."""
        change, case = self.tickets.end(evidence, "cancelled"), self.case
        operation, wanted = "get_record", {"record_id": case.ground_id}
        if case.ground_id is None:
            operation, wanted = "get_person", {"person_id": case.person_id}
        return change is not None and was_looked_at(
            evidence, facts.DATAHUB, operation, before_step=change.step, **wanted
        )


def _ends(case: Case, company: Company) -> list[Ends]:
    assert case.last_day is not None
    last_day, who = case.last_day.isoformat(), (case.person_id,)
    barred = frozenset(who)
    tickets = [TicketGoal(key=one.key, status=one.status, assignee_ids=one.assignee_ids) for one in case.tickets]
    revoked = [RecordGoal(record_id=record_id, state="revoked") for record_id in case.revoked_ids]
    ended = [RecordGoal(record_id=record_id, ends_on=last_day) for record_id in case.ended_ids]
    escalated = [
        RequestEscalated(
            one.request_id, Standing(company, TYPE_KEY, case.role, one.amount_cents, barred_ids=barred), who
        )
        for one in case.escalated
    ]
    return [
        Ends("tickets_handed_over", [TicketEnded(goal) for goal in tickets]),
        Ends("requests_cancelled", [RequestCancelled(one, Refusal(WITHDRAWN, who)) for one in case.cancelled_ids]),
        Ends("requests_escalated", escalated),
        Ends("delegations_revoked", [DelegationRevoked(one) for one in case.delegation_ids]),
        Ends("access_ended", [RecordEnded(goal) for goal in (*revoked, *ended)]),
    ]


def _allowances(case: Case) -> Iterable[Allowance]:
    yield from entry_allowances(case)
    subjects = [case.person_id, *([case.ground_id] if case.ground_id else [])]
    yield from issue_allowances(subjects, case.refusal, plain=())
