"""The rubric of expense reports: the records approved, receipts on file before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation import Check, TaskRubric
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, RequestChecks
from companyos_gateway.evaluation.approval_rubric import CompletedOutcome, RefusedOutcome
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    issue_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.facts import record_shown
from companyos_gateway.evaluation.goals import RecordGoal, source_once_record_holds
from companyos_gateway.evaluation.metric_checks import constant_source
from companyos_gateway.scenarios.expense_report.case import TYPE_KEY, Case
from companyos_shared.wire.company import Company


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a repayment, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    requests = _requests(case, company)
    goals = _goals(case)
    return CompletedOutcome(
        case, company, requests=requests, allowances=_allowances(case, requests), goals=goals
    ).rubric()


class _Refusal(RefusedOutcome):
    """The policy does not repay the report."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = _requests(case, company)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests))
        self.case = case

    def scenario_checks(self) -> Iterable[Check]:
        case = self.case
        twin = [case.paid_twin_id] if case.paid_twin_id else []
        yield self.facts_check("report_read", *map(record_shown, [case.record_ids[0], *twin]))


def _requests(case: Case, company: Company) -> RequestChecks:
    first = case.record_ids[0]
    receipts = constant_source(case.has_receipts)
    if case.receipt_is_missing:
        receipts = source_once_record_holds(first, {"receipt_attached": True}, allowed_value=True)
    holder_ids = None if case.holder_id is None else frozenset({case.holder_id})
    return RequestChecks(
        requester_id=case.agent_id,
        subject=first,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, case.role, case.amount_cents, holder_ids),
        sources={
            "expense_id": constant_source(first),
            "amount_cents": constant_source(case.amount_cents),
            "has_receipts": receipts,
            "records": constant_source(len(case.record_ids)),
        },
    )


def _goals(case: Case) -> list[RecordGoal]:
    receipt = {"receipt_attached": True, "receipt_total_cents": case.receipt_total_cents}
    filed = receipt if case.receipt_is_missing else {}
    first = RecordGoal(record_id=case.record_ids[0], state="approved", fields=filed)
    return [first, *(RecordGoal(record_id=record_id, state="approved") for record_id in case.record_ids[1:])]


def _allowances(case: Case, requests: RequestChecks) -> Iterable[Allowance]:
    yield from ticket_allowances(case)
    yield from issue_allowances(case.record_ids, case.refusal)
    yield from request_allowances(requests)
