"""The rubric of audits: each request that breaks the policy cancelled or escalated for it, all others left alone."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.rubrics import Check, Evidence, TaskRubric, facts
from companyos_gateway.rubrics.allowances import entry_allowances, issue_allowances
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.cases import Refusal
from companyos_gateway.rubrics.deskwork import Declined, plain_check
from companyos_gateway.rubrics.ends import Ends, RequestCancelled, RequestEscalated
from companyos_gateway.rubrics.errand import Errand
from companyos_gateway.rubrics.records import was_looked_at
from companyos_gateway.rubrics.requests import Standing
from companyos_gateway.scenarios.audit_remediation.case import Case, RemediedRequest
from companyos_shared.wire.company import Company


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an audit, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    return Errand(case, company, allowances=_allowances(case), ends=_ends(case, company)).rubric()


class _Refusal(Declined):
    """The policy does not let the audit take place."""

    def __init__(self, case: Case, company: Company) -> None:
        super().__init__(case, company, allowances=_allowances(case))
        self.case = case

    def own_checks(self) -> Iterable[Check]:
        yield plain_check("ground_read", self.was_ground_read)

    def was_ground_read(self, evidence: Evidence) -> bool:
        """Say whether the agent had looked at what speaks against the audit before it refused it."""
        change, case = self.tickets.end(evidence, "cancelled"), self.case
        operation, wanted = "get_record", {"record_id": case.ground_id}
        if case.ground_id is None:
            operation, wanted = "get_person", {"person_id": case.reporter_id}
        return change is not None and was_looked_at(
            evidence, facts.DATAHUB, operation, before_step=change.step, **wanted
        )


def _ends(case: Case, company: Company) -> list[Ends]:
    cancelled = [_cancelled(case, one) for one in case.remedied_requests if one.breach.code is not None]
    escalated = [_escalated(case, company, one) for one in case.remedied_requests if one.breach.code is None]
    return [Ends("requests_cancelled", cancelled), Ends("requests_escalated", escalated)]


def _cancelled(case: Case, one: RemediedRequest) -> RequestCancelled:
    assert one.breach.code is not None
    return RequestCancelled(one.request_id, Refusal(one.breach.code, case.policy_refs))


def _escalated(case: Case, company: Company, one: RemediedRequest) -> RequestEscalated:
    standing = Standing(company, case.type_key, case.role, one.amount_cents)
    return RequestEscalated(one.request_id, standing, case.policy_refs)


def _allowances(case: Case) -> Iterable[Allowance]:
    yield from entry_allowances(case)
    yield from issue_allowances([case.ground_id] if case.ground_id else [], case.refusal, plain=())
