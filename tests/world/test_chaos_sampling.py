"""Sampling of chaos kinds by rate, budget and override, from named streams."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import ChaosError, Group, Kind, draw_kinds, profile_for
from companyos_gateway.chaos.kinds import EXCLUDES, REQUIRES
from companyos_shared.streams import Stream

APPLICABLE = tuple(kind for kind in Kind if kind.group is not Group.TRANSPORT)
ALWAYS = (Kind.STALE_METRIC,)


def _draw(seed: int, level: int, **overrides: float) -> frozenset[Kind]:
    return draw_kinds(profile_for(level), overrides, Stream("draw", seed), applicable=APPLICABLE, always=ALWAYS)


def test_nothing_is_injected_at_level_zero() -> None:
    assert not any(_draw(seed, 0) for seed in range(50))


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_always_injected_kinds_start_at_level_one(level: int) -> None:
    assert all(Kind.STALE_METRIC in _draw(seed, level) for seed in range(50))


def test_an_override_enables_a_kind_at_level_zero_and_disables_it_at_level_four() -> None:
    for kind in APPLICABLE:
        assert all(kind in _draw(seed, 0, **{kind: 1.0}) for seed in range(10)), kind
        needed_by_others = {REQUIRES.get(other) for other in APPLICABLE}
        if kind not in needed_by_others:
            assert not any(kind in _draw(seed, 4, **{kind: 0.0}) for seed in range(10)), kind


def test_a_kind_also_injects_its_required_kind() -> None:
    assert _draw(0, 0, failed_pipeline=1.0) == {Kind.FAILED_PIPELINE, Kind.STALE_METRIC}


def test_a_kind_is_not_injected_if_its_required_kind_is_excluded() -> None:
    assert not _draw(0, 0, failed_pipeline=1.0, stale_metric=0.0)


def test_mutually_exclusive_kinds_are_never_injected_together() -> None:
    for seed in range(200):
        affected = _draw(seed, 4)
        assert not any({kind, other} <= affected for kind, other in EXCLUDES)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_budget_is_respected(level: int) -> None:
    budget = profile_for(level).budget
    for seed in range(300):
        affected = _draw(seed, level) - {Kind.STALE_METRIC}
        required = {REQUIRES[kind] for kind in affected if kind in REQUIRES}
        for group in (Group.DATA, Group.PEOPLE):
            assert len([kind for kind in affected - required if kind.group is group]) <= budget.kinds(group)


def test_the_frequency_of_a_kind_is_close_to_its_rate() -> None:
    affected = sum(Kind.MISSING_STATUS in _draw(seed, 2) for seed in range(600)) / 600
    assert abs(affected - profile_for(2).rate(Kind.MISSING_STATUS)) < 0.08


@pytest.mark.parametrize(
    ("overrides", "place"),
    [
        (
            {"stale_matric": 1.0},
            r"chaos_overrides\.stale_matric: unknown kind 'stale_matric'; the kinds are .*stale_metric",
        ),
        (
            {"datahub.stale_metric": 1.0},
            r"unknown kind 'stale_metric'; the kinds of transport are .*timeout_after_commit",
        ),
        (
            {"payroll.forbidden": 1.0},
            r"chaos_overrides\.payroll\.forbidden: unknown service 'payroll'; the services are",
        ),
        ({"stale_metric": 1.1}, r"chaos_overrides\.stale_metric: a rate must be 0 to 1"),
        ({"stale_metric": -0.1}, r"chaos_overrides\.stale_metric: a rate must be 0 to 1"),
    ],
)
def test_an_invalid_override_is_rejected_with_its_name(overrides: dict[str, float], place: str) -> None:
    with pytest.raises(ChaosError, match=place):
        _draw(0, 1, **overrides)
