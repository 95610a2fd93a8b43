"""Policies on error rates: their limits, what other versions decide, and the rates that a refusal requires."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES, draw_other_priority, rate_figures
from companyos_gateway.scenarios.bug_escalation.scenario import SCENARIO, Variant
from companyos_shared.streams import Stream

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


LOWEST, THRESHOLD = 22, 7


def _figures(stream: Stream, rate: int, level: str, *, in_force: bool) -> dict[str, int]:
    return dict(rate_figures(stream, "from_errors", THRESHOLD, rate, level, lowest=LOWEST, in_force=in_force))  # type: ignore[arg-type]


def _priority(figures: dict[str, int], rate: int) -> str:
    return PRIORITIES[sum(figures[f"{name}_from_errors"] <= rate for name in PRIORITIES[1:])]


@pytest.mark.parametrize("level", PRIORITIES)
@pytest.mark.parametrize("rate", [LOWEST, 27, 32])
def test_another_version_gives_an_accepted_rate_another_priority(level: str, rate: int) -> None:
    for seed in range(20):
        stream = Stream("rates", seed, level, rate)
        other = draw_other_priority(stream.child("other"), level)  # type: ignore[arg-type]
        assert _priority(_figures(stream.child("now"), rate, level, in_force=True), rate) == level
        figures = _figures(stream.child("then"), rate, other, in_force=False)
        assert _priority(figures, rate) == other != level
        assert figures["from_errors"] <= rate


@pytest.mark.parametrize("rate", range(1, THRESHOLD))
def test_another_version_accepts_a_rate_that_has_to_be_refused(rate: int) -> None:
    for seed in range(20):
        stream = Stream("rates", seed, rate)
        assert _figures(stream, rate, "low", in_force=True)["from_errors"] == THRESHOLD > rate
        assert _figures(stream, rate, "high", in_force=False)["from_errors"] <= rate
