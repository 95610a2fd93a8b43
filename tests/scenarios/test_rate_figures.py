"""Policies on error rates: another version of the policy decides a case differently."""

from __future__ import annotations

import pytest

from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES, draw_other_priority, rate_figures
from companyos_shared.streams import Stream

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
