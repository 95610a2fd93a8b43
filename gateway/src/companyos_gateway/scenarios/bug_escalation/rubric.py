"""The rubric of bug escalations: the rate that counts is fresh, and the ticket is started only after the yes."""

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
from companyos_gateway.rubrics.requests import FieldRecord, RequestRules, Standing
from companyos_gateway.rubrics.workflow import Fulfilment, Refused, Workflow, paid, plain_check
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, TYPE_KEY, Case
from companyos_shared.wire.company import Company, Role


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of an escalation, or of a refusal where the rate does not carry it."""
    return (_Refusal if case.must_refuse else _Escalation)(case, company).rubric()


class _Rated(Workflow):
    """Both ends turn on the error rate."""

    def __init__(self, case: Case, company: Company) -> None:
        requests = _requests(case, company)
        super().__init__(case, company, requests=requests, allowances=_allowances(case, requests))
        self.case = case
        self.rate = ReadingRules(case.rate)

    def own_milestones(self) -> Iterable[Milestone]:
        if self.case.rate.is_stale:
            yield paid("refreshed", self.rate.is_refreshed)


class _Escalation(_Rated, Fulfilment):
    """The bug is bad enough."""

    def own_checks(self) -> Iterable[Check]:
        if self.case.rate.is_stale:
            yield plain_check("rate_refreshed", self.rate.is_refreshed)


class _Refusal(_Rated, Refused):
    """The fresh rate lies below the bar."""

    def own_checks(self) -> Iterable[Check]:
        yield plain_check("rate_known", self.was_rate_known)

    def was_rate_known(self, evidence: Evidence) -> bool:
        """Say whether the rate was fresh and below the bar at the step at which the ticket was cancelled."""
        rate = self.rate.known_at(evidence, self.tickets.end(evidence, "cancelled"))
        return rate is not None and rate < self.case.lowest_rate


def _requests(case: Case, company: Company) -> RequestRules:
    rate = ReadingRules(case.rate)
    records: dict[str, FieldRecord] = {
        "service": constant(case.service),
        METRIC_KEY: rate.value_record(),
        "measured_at": rate.date_record(),
    }
    if case.runbook_id is not None:
        records["runbook_id"] = constant(case.runbook_id)
    return RequestRules(
        requester_id=case.agent_id,
        subject=case.ticket_key,
        ticket_key=case.ticket_key,
        standing=Standing(company, TYPE_KEY, Role.CTO, 0),
        records=records,
        dated="measured_at",
        max_age=case.rate.max_age,
    )


def _allowances(case: Case, requests: RequestRules) -> Iterable[Allowance]:
    metrics = [case.rate.metric_id, *case.rate.other_metric_ids]
    if case.other_rate is not None:
        metrics.append(case.other_rate.metric_id)
    yield from entry_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([case.rate.source_id, *metrics], case.refusal)
    yield from request_allowances(requests)
