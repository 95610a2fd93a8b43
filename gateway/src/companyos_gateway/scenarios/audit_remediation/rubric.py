"""The rubric of audits: each request that breaks the policy cancelled or escalated for it, all others left alone."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation import Check, TaskRubric
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.change_policy import Allowance, issue_allowances, ticket_allowances
from companyos_gateway.evaluation.entity_goals import EntityGoals, RequestCancelled, RequestEscalated
from companyos_gateway.evaluation.facts import person_shown, record_shown
from companyos_gateway.evaluation.multi_goal_rubric import MultiGoalRubric
from companyos_gateway.evaluation.ticket_rubric import TicketRefusedOutcome
from companyos_gateway.scenarios.audit_remediation.case import Case, RemediedRequest
from companyos_shared.wire.company import Company


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an audit, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    return MultiGoalRubric(
        case, company, allowances=_allowances(case), entity_goals=_entity_goals(case, company)
    ).rubric()


class _Refusal(TicketRefusedOutcome):
    """The policy does not let the audit take place."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case, company, allowances=_allowances(case))
        self.case = case

    def scenario_checks(self) -> Iterable[Check]:
        case = self.case
        yield self.facts_check(
            "ground_read", person_shown(case.reporter_id) if case.ground_id is None else record_shown(case.ground_id)
        )


def _entity_goals(case: Case, company: Company) -> list[EntityGoals]:
    cancelled = [_cancelled(case, one) for one in case.remedied_requests if one.breach.code is not None]
    escalated = [_escalated(case, company, one) for one in case.remedied_requests if one.breach.code is None]
    return [EntityGoals("requests_cancelled", cancelled), EntityGoals("requests_escalated", escalated)]


def _cancelled(case: Case, one: RemediedRequest) -> RequestCancelled:
    assert one.breach.code is not None
    return RequestCancelled(one.request_id, Refusal(one.breach.code, case.policy_refs))


def _escalated(case: Case, company: Company, one: RemediedRequest) -> RequestEscalated:
    authority = ApprovalAuthority(company, case.type_key, case.role, one.amount_cents)
    return RequestEscalated(one.request_id, authority, case.policy_refs)


def _allowances(case: Case) -> Iterable[Allowance]:
    yield from ticket_allowances(case)
    yield from issue_allowances([case.ground_id] if case.ground_id else [], case.refusal)
