"""Bug escalations: the limits of the policy, and the rates that a refusal requires."""

from __future__ import annotations

from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.bug_escalation.scenario import SCENARIO, Variant

SEEDS, LEVEL = range(40), 3
LIMITS = ("escalate_from_errors", "medium_from_errors", "high_from_errors", "critical_from_errors")


def test_the_limits_of_priorities_are_between_those_of_escalations_and_all_requests() -> None:
    for seed in SEEDS:
        policies = catalogue()["bug_escalation"].plan(seed, LEVEL).documents["datahub"]["policies"]
        for row in (one for one in policies if one["topic"] == "incidents"):
            escalated, medium, high, critical = (row["parameters"][name] for name in LIMITS)
            assert escalated < medium < high < critical < 100, seed


def test_the_refusal_of_a_chain_requires_the_rates_of_both_services() -> None:
    built = (SCENARIO.build(seed, profile_for(LEVEL), {}) for seed in range(400))
    case = next(one.case for one in built if one.case.refusal is not None and one.case.variant is Variant.CHAIN)
    rates = {fact.entity for fact in case.outcome.facts if ".metrics[" in fact.entity}
    assert rates == {f"datahub.metrics[{one.metric_id}]" for one in case.outcome.metrics}
    assert len(rates) == 2
