"""What an onboarding may change, and where the fields of its request have their values from."""

from __future__ import annotations

from collections.abc import Iterable

from companyos_gateway.rubrics.allowances import (
    entry_allowances,
    issue_allowances,
    metric_allowances,
    request_allowances,
)
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.readings import ReadingRules, constant
from companyos_gateway.rubrics.requests import RequestRules, Standing
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY, Case
from companyos_shared.wire.company import Company, Role


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
