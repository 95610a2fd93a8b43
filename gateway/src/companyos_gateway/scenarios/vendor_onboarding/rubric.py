"""The rubric of vendor onboarding: what must be there beside the ticket and its approval."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.evaluation import Check, Milestone, TaskRubric
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, RequestChecks
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
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY, Case
from companyos_shared.wire.company import Company, Role


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an onboarding, or of a refusal where the score forbids it."""
    return (_Refusal if case.must_refuse else _Onboarding)(case, company).rubric()


class _Scored(ApprovalRubric):
    """Both ends turn on the score."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = requests_of(case, company)
        super().__init__(case, company, requests=requests, allowances=allowances_of(case, requests))
        self.case = case
        self.score = MetricChecks(case.score)

    def scenario_milestones(self) -> Iterable[Milestone]:
        if self.case.score.is_stale:
            yield milestone("refreshed", self.score.is_refreshed)


class _Onboarding(_Scored, CompletedOutcome):
    """The vendor qualifies."""

    def scenario_checks(self) -> Iterable[Check]:
        if self.case.score.is_stale:
            yield self.score.refreshed_check("score_refreshed")


class _Refusal(_Scored, RefusedOutcome):
    """The fresh score lies below the bar."""

    def scenario_checks(self) -> Iterable[Check]:
        yield self.facts_check("score_known", self.score.fact(lambda score: score < self.case.minimum_score))


def requests_of(case: Case, company: Company) -> RequestChecks:
    """Return what makes a request of the onboarding sound."""
    score = MetricChecks(case.score)
    fixed = {name: constant_source(given) for name, given in case.fixed_fields.items()}
    return RequestChecks(
        requester_id=case.agent_id,
        subject=case.vendor_id,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, Role.CFO, int(case.fixed_fields["amount_cents"])),
        sources={**fixed, METRIC_KEY: score.value_source(), "score_as_of": score.timestamp_source()},
        timestamp_field="score_as_of",
        max_age=case.score.max_age,
    )


def allowances_of(case: Case, requests: RequestChecks) -> Iterable[Allowance]:
    """Return what an onboarding may change, comments and notes on its own entities included."""
    metrics = [case.score.metric_id, *case.score.other_metric_ids]
    yield from ticket_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([case.vendor_id, case.contract_id, case.score.source_id, *metrics], case.refusal)
    yield from request_allowances(requests)
