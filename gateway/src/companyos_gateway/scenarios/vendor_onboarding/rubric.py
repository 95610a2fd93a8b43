"""The rubric of vendor onboarding: what must be there beside the ticket and its approval."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.rubrics import Check, Evidence, Milestone, TaskRubric
from companyos_gateway.rubrics.allowances import (
    entry_allowances,
    issue_allowances,
    metric_allowances,
    request_allowances,
)
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.readings import ReadingRules, constant
from companyos_gateway.rubrics.requests import RequestRules, Standing
from companyos_gateway.rubrics.workflow import APPROVED_POINTS, POINTS, Fulfilment, Refused, Workflow, paid, plain_check
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY, Case
from companyos_shared.wire.company import Company, Role

__all__ = ["APPROVED_POINTS", "POINTS", "build_rubric"]


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an onboarding, or of a refusal where the score forbids it."""
    return (_Refusal if case.must_refuse else _Onboarding)(case, company).rubric()


class _Scored(Workflow):
    """Both ends turn on the score."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = requests_of(case, company)
        super().__init__(case, company, requests=requests, allowances=allowances_of(case, requests))
        self.case = case
        self.score = ReadingRules(case.score)

    def own_milestones(self) -> Iterable[Milestone]:
        if self.case.score.is_stale:
            yield paid("refreshed", self.score.is_refreshed)


class _Onboarding(_Scored, Fulfilment):
    """The vendor qualifies."""

    def own_checks(self) -> Iterable[Check]:
        if self.case.score.is_stale:
            yield plain_check("score_refreshed", self.score.is_refreshed)


class _Refusal(_Scored, Refused):
    """The fresh score lies below the bar."""

    def own_checks(self) -> Iterable[Check]:
        yield plain_check("score_known", self.was_score_known)

    def was_score_known(self, evidence: Evidence) -> bool:
        """Say whether the score was fresh and below the bar at the step at which the ticket was cancelled."""
        score = self.score.known_at(evidence, self.tickets.end(evidence, "cancelled"))
        return score is not None and score < self.case.minimum_score


def requests_of(case: Case, company: Company) -> RequestRules:
    """Return what makes a request of the onboarding sound."""
    score = ReadingRules(case.score)
    fixed = {name: constant(given) for name, given in case.fixed_fields.items()}
    return RequestRules(
        requester_id=case.agent_id,
        subject=case.vendor_id,
        ticket_key=case.ticket_key,
        standing=Standing(company, TYPE_KEY, Role.CFO, int(case.fixed_fields["amount_cents"])),
        records={**fixed, METRIC_KEY: score.value_record(), "score_as_of": score.date_record()},
        dated="score_as_of",
        max_age=case.score.max_age,
    )


def allowances_of(case: Case, requests: RequestRules) -> Iterable[Allowance]:
    """Return what an onboarding may change, comments and notes on its own entities included."""
    metrics = [case.score.metric_id, *case.score.other_metric_ids]
    yield from entry_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([case.vendor_id, case.contract_id, case.score.source_id, *metrics], case.refusal)
    yield from request_allowances(requests)
