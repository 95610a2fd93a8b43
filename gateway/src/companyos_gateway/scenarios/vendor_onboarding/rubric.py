"""The rubric of vendor onboarding: what must be there beside the ticket and its approval."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.rubrics import Check, Evidence, Milestone, TaskRubric
from companyos_gateway.rubrics.readings import ReadingRules
from companyos_gateway.rubrics.workflow import APPROVED_POINTS, POINTS, Fulfilment, Refused, Workflow, paid, plain_check
from companyos_gateway.scenarios.vendor_onboarding.boundaries import allowances_of, requests_of
from companyos_gateway.scenarios.vendor_onboarding.case import Case
from companyos_shared.wire.company import Company

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
