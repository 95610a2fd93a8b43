"""The rubric of handbook updates: the page says what the policy says, is approved, and replaces the one before."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.rubrics import Check, Evidence, TaskRubric, facts
from companyos_gateway.rubrics.allowances import entry_allowances, issue_allowances, request_allowances
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.readings import constant
from companyos_gateway.rubrics.records import RecordGoal, once_held, was_looked_at
from companyos_gateway.rubrics.requests import RequestRules, Standing
from companyos_gateway.rubrics.workflow import Fulfilment, Refused, plain_check
from companyos_gateway.scenarios.handbook_update.case import TYPE_KEY, Case
from companyos_shared.wire.company import Company, Role


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a publication, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    requests = _requests(case, company)
    goals = _goals(case)
    return Fulfilment(case, company, requests=requests, allowances=_allowances(case, requests), goals=goals).rubric()


class _Refusal(Refused):
    """The policy does not let the page be published."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = _requests(case, company)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests))
        self.case = case

    def own_checks(self) -> Iterable[Check]:
        yield plain_check("page_read", self.was_page_read)

    def was_page_read(self, evidence: Evidence) -> bool:
        """Say whether the agent had looked at the draft before it refused it."""
        change, document_id = self.tickets.end(evidence, "cancelled"), self.case.document_id
        return change is not None and was_looked_at(
            evidence, facts.DATAHUB, "get_record", before_step=change.step, record_id=document_id
        )


def _requests(case: Case, company: Company) -> RequestRules:
    return RequestRules(
        requester_id=case.agent_id,
        subject=case.document_id,
        ticket_key=case.ticket_key,
        standing=Standing(company, TYPE_KEY, Role.HR_LEAD, 0),
        records={
            "document_id": constant(case.document_id),
            "revision": constant(case.revision),
            "policy_id": constant(case.rule_id),
            "policy_version": once_held(case.document_id, case.quoted, given=case.rule_version),
        },
    )


def _goals(case: Case) -> list[RecordGoal]:
    page = RecordGoal(record_id=case.document_id, state="published", fields=case.quoted, reference_field="approval_ref")
    if case.predecessor_id is None:
        return [page]
    return [page, RecordGoal(record_id=case.predecessor_id, state="archived")]


def _allowances(case: Case, requests: RequestRules) -> Iterable[Allowance]:
    yield from entry_allowances(case)
    yield from issue_allowances([case.document_id], case.refusal, plain=())
    yield from request_allowances(requests)
