"""The rubric of bug escalations: the rate that counts is fresh, and the ticket is started only after the yes."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation import Check, Milestone, TaskRubric
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, FieldSource, RequestChecks
from companyos_gateway.evaluation.approval_rubric import (
    ApprovalRubric,
    CompletedOutcome,
    RefusedOutcome,
)
from companyos_gateway.evaluation.change_policy import (
    Allowance,
    issue_allowances,
    metric_allowances,
    request_allowances,
    ticket_allowances,
)
from companyos_gateway.evaluation.metric_checks import MetricChecks, constant_source
from companyos_gateway.evaluation.milestones import milestone
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, TYPE_KEY, Case
from companyos_shared.wire.company import Company, Role


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an escalation, or of a refusal where the rate does not carry it."""
    return (_Refusal if case.must_refuse else _Escalation)(case, company).rubric()


class _Rated(ApprovalRubric):
    """Both ends turn on the error rate."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = _requests(case, company)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests))
        self.case = case
        self.rate = MetricChecks(case.rate)

    def scenario_milestones(self) -> Iterable[Milestone]:
        if self.case.rate.is_stale:
            yield milestone("refreshed", self.rate.is_refreshed)


class _Escalation(_Rated, CompletedOutcome):
    """The bug is bad enough."""

    def scenario_checks(self) -> Iterable[Check]:
        if self.case.rate.is_stale:
            yield self.rate.refreshed_check("rate_refreshed")


class _Refusal(_Rated, RefusedOutcome):
    """The fresh rate lies below the bar."""

    def scenario_checks(self) -> Iterable[Check]:
        yield self.facts_check("rate_known", self.rate.fact(lambda rate: rate < self.case.lowest_rate))


def _requests(case: Case, company: Company) -> RequestChecks:
    rate = MetricChecks(case.rate)
    sources: dict[str, FieldSource] = {
        "service": constant_source(case.service),
        METRIC_KEY: rate.value_source(),
        "measured_at": rate.timestamp_source(),
    }
    if case.runbook_id is not None:
        sources["runbook_id"] = constant_source(case.runbook_id)
    return RequestChecks(
        requester_id=case.agent_id,
        subject=case.ticket_key,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, Role.CTO, 0),
        sources=sources,
        timestamp_field="measured_at",
        max_age=case.rate.max_age,
    )


def _allowances(case: Case, requests: RequestChecks) -> Iterable[Allowance]:
    metrics = [case.rate.metric_id, *case.rate.other_metric_ids]
    if case.other_rate is not None:
        metrics.append(case.other_rate.metric_id)
    yield from ticket_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([case.rate.source_id, *metrics], case.refusal)
    yield from request_allowances(requests)
