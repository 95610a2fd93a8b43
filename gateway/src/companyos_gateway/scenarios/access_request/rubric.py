"""The rubric of access requests: least privilege with an end, decided by who must decide, recorded after the yes."""

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
from companyos_gateway.evaluation.facts import person_shown, record_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import constant_source
from companyos_gateway.scenarios.access_request.case import Case
from companyos_shared.wire.company import Company


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a grant, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    requests = _requests(case, company)
    goals = _goals(case)
    return CompletedOutcome(
        case, company, requests=requests, allowances=_allowances(case, requests), goals=goals
    ).rubric()


class _Refusal(RefusedOutcome):
    """The policy does not let the access be granted."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = _requests(case, company)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests))
        self.case = case

    def scenario_checks(self) -> Iterable[Check]:
        case = self.case
        if case.conflicting_grant_id is None:
            ground = person_shown(case.person_id)
        else:
            ground = record_shown(case.conflicting_grant_id)
        yield self.facts_check("ground_read", record_shown(case.grant_id), ground)


def _requests(case: Case, company: Company) -> RequestChecks:
    holder_ids = None if case.holder_id is None else frozenset({case.holder_id})
    barred_ids = frozenset({case.person_id})
    return RequestChecks(
        requester_id=case.agent_id,
        subject=case.grant_id,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, case.type_key, case.role, 0, holder_ids, barred_ids),
        sources={
            "grant_id": constant_source(case.grant_id),
            "person_id": constant_source(case.person_id),
            "system": constant_source(case.system),
            "access_level": constant_source(case.level.value),
            "until": constant_source(case.until.isoformat()),
        },
    )


def _goals(case: Case) -> list[RecordGoal]:
    granted = RecordGoal(
        record_id=case.grant_id,
        state="active",
        ends_on=case.until.isoformat(),
        fields={"access_level": case.level.value},
        reference_field="approval_ref",
    )
    if case.replaced_id is None:
        return [granted]
    return [granted, RecordGoal(record_id=case.replaced_id, state="revoked")]


def _allowances(case: Case, requests: RequestChecks) -> Iterable[Allowance]:
    yield from ticket_allowances(case)
    subjects = [case.grant_id, *([case.conflicting_grant_id] if case.conflicting_grant_id else [])]
    yield from issue_allowances(subjects, case.refusal)
    yield from request_allowances(requests)
