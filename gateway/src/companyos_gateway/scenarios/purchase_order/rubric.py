"""The rubric of invoices on orders: paid where the papers agree and somebody entitled says so, stopped where not."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation import Check, Evidence, Milestone, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, RequestChecks
from companyos_gateway.evaluation.approval_rubric import CompletedOutcome, RefusedOutcome
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    issue_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.facts import RequiredFacts, record_shown
from companyos_gateway.evaluation.goals import RecordGoal, source_once_record_holds
from companyos_gateway.evaluation.metric_checks import constant_source, sum_source
from companyos_gateway.evaluation.milestones import milestone
from companyos_gateway.evaluation.mismatch import Mismatch
from companyos_gateway.scenarios.purchase_order.case import TYPE_KEY, Case, RefusalGround
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Change


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a release, or of an invoice that is stopped."""
    requests = _requests(case, company)
    if case.must_refuse:
        return _Stopped(case, company, requests).rubric()
    goals = _goals(case)
    return CompletedOutcome(
        case, company, requests=requests, allowances=_allowances(case, requests), goals=goals
    ).rubric()


class _Stopped(RefusedOutcome):
    """The papers do not agree: the invoice is stopped with its reason before the ticket is cancelled."""

    def __init__(self, case: Case, company: Company, requests: RequestChecks) -> None:
        self.goal = _stop(case)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests), goals=[self.goal])
        self.case = case

    def scenario_checks(self) -> Iterable[Check]:
        invoice_id = self.case.invoice_id
        papers = tuple(map(record_shown, _against(self.case)))
        knowledge = RequiredFacts(papers, self.first_change, f"{invoice_id} was changed")
        yield Check("invoice_stopped", False, lambda evidence: self.goal.mismatch(evidence, None))
        yield Check("stopped_before_cancelled", False, self.find_late_stop, ("ticket_cancelled", "invoice_stopped"))
        yield knowledge.check("papers_read", caused_by=("invoice_stopped",))

    def outcome_milestones(self) -> Iterable[Milestone]:
        """Return the milestone on the way to this end."""
        yield milestone("stopped", lambda evidence: self.goal.is_met(evidence, None))

    def find_late_stop(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the invoice did not say what is wrong with it when the ticket was cancelled."""
        change, expected = self.cancellation(evidence), "stopped before the ticket was cancelled"
        if change is None:
            return Mismatch(self.goal.row_path, expected, "the ticket was not cancelled")
        if self.goal.is_met(evidence, None, step=change.step):
            return None
        return Mismatch(self.goal.row_path, expected, "not stopped by then", change.step)

    def first_change(self, evidence: Evidence) -> Change | None:
        """Return the first change of the invoice."""
        return next(iter(evidence.row_changes(row_views.DATAHUB, "records", self.case.invoice_id)), None)


def _against(case: Case) -> tuple[str, ...]:
    """Return the papers that show why the invoice is stopped."""
    if case.ground is RefusalGround.DUPLICATE:
        assert case.paid_twin_id is not None
        return case.invoice_id, case.paid_twin_id
    receipts = case.receipt_ids if case.ground is RefusalGround.QUANTITY else ()
    return case.invoice_id, case.order_id, *receipts


def _stop(case: Case) -> RecordGoal:
    if case.ground is RefusalGround.DUPLICATE:
        return RecordGoal(record_id=case.invoice_id, state="rejected")
    assert case.ground is not None
    return RecordGoal(record_id=case.invoice_id, state="on_hold", fields={"hold_reason": case.ground.value})


def _goals(case: Case) -> list[RecordGoal]:
    invoice = RecordGoal(record_id=case.invoice_id, state="approved", fields=case.credited)
    return [invoice, *([RecordGoal(record_id=case.order_id, state="closed")] if case.closes_order else [])]


def _requests(case: Case, company: Company) -> RequestChecks:
    amount = constant_source(case.amount_cents)
    if case.credited:
        amount = source_once_record_holds(case.invoice_id, case.credited, allowed_value=case.amount_cents)
    return RequestChecks(
        requester_id=case.agent_id,
        subject=case.invoice_id,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, case.role, case.amount_cents),
        sources={
            "invoice_id": constant_source(case.invoice_id),
            "order_id": constant_source(case.order_id),
            "amount_cents": amount,
            "received_quantity": sum_source(case.receipt_ids, "quantity", state="accepted"),
            "invoiced_before": constant_source(case.invoiced_before),
            "price_difference_cents": constant_source(case.price_difference_cents),
        },
    )


def _allowances(case: Case, requests: RequestChecks) -> Iterable[Allowance]:
    yield from ticket_allowances(case)
    yield from issue_allowances([case.invoice_id, case.order_id], case.refusal)
    yield from request_allowances(requests)
