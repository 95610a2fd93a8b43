"""The rubric of offboardings: tickets, requests, delegations and access of the leaver at their ends, and no others."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation import Check, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.change_policy import Allowance, issue_allowances, ticket_allowances
from companyos_gateway.evaluation.entity_goals import (
    DelegationRevoked,
    EntityGoals,
    RecordInState,
    RequestCancelled,
    RequestEscalated,
    TicketInState,
)
from companyos_gateway.evaluation.facts import record_shown, shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.multi_goal_rubric import MultiGoalRubric
from companyos_gateway.evaluation.ticket_goals import TicketGoal
from companyos_gateway.evaluation.ticket_rubric import TicketRefusedOutcome
from companyos_gateway.scenarios.employee_offboarding.case import TYPE_KEY, Case
from companyos_shared.wire.company import Company

WITHDRAWN = "withdrawn"


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an offboarding, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    return MultiGoalRubric(
        case, company, allowances=_allowances(case), entity_goals=_entity_goals(case, company)
    ).rubric()


class _Refusal(TicketRefusedOutcome):
    """The policy does not let the offboarding take place."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case, company, allowances=_allowances(case))
        self.case = case

    def scenario_checks(self) -> Iterable[Check]:
        case = self.case
        if case.ground_id is None:
            yield self.facts_check("ground_read", shown(row_views.DATAHUB, "people", case.person_id, "employed_to"))
        else:
            yield self.facts_check("ground_read", record_shown(case.ground_id))


def _entity_goals(case: Case, company: Company) -> list[EntityGoals]:
    assert case.last_day is not None
    last_day, who = case.last_day.isoformat(), (case.person_id,)
    barred = frozenset(who)
    tickets = [TicketGoal(key=one.key, status=one.status, assignee_ids=one.assignee_ids) for one in case.tickets]
    revoked = [RecordGoal(record_id=record_id, state="revoked") for record_id in case.revoked_ids]
    ended = [RecordGoal(record_id=record_id, ends_on=last_day) for record_id in case.ended_ids]
    escalated = [
        RequestEscalated(
            one.request_id, ApprovalAuthority(company, TYPE_KEY, case.role, one.amount_cents, barred_ids=barred), who
        )
        for one in case.escalated
    ]
    return [
        EntityGoals("tickets_handed_over", [TicketInState(goal) for goal in tickets]),
        EntityGoals(
            "requests_cancelled", [RequestCancelled(one, Refusal(WITHDRAWN, who)) for one in case.cancelled_ids]
        ),
        EntityGoals("requests_escalated", escalated),
        EntityGoals("delegations_revoked", [DelegationRevoked(one) for one in case.delegation_ids]),
        EntityGoals("access_ended", [RecordInState(goal) for goal in (*revoked, *ended)]),
    ]


def _allowances(case: Case) -> Iterable[Allowance]:
    yield from ticket_allowances(case)
    subjects = [case.person_id, *([case.ground_id] if case.ground_id else [])]
    yield from issue_allowances(subjects, case.refusal)
