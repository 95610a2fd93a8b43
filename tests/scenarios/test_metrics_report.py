"""Metrics reports: if fields are renamed, one of them is a field that every report reads."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios import catalogue
from companyos_players.registry import ablation_of, fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll

NAME = "metrics_report"
MAINTENANCE = 113
"""A seed in which maintenance delays the refresh of one of three values, which stay fresh for four hours."""

RENAMED = {Kind.RENAMED_FIELDS.value: 1.0}


@pytest.mark.parametrize("seed", range(10))
def test_the_time_of_a_metric_is_renamed_if_any_field_is(seed: int) -> None:
    instance = catalogue()[NAME].plan(seed, 1, RENAMED)
    assert "as_of" in instance.drift.names["datahub"]
    assert not catalogue()[NAME].plan(seed, 1, {Kind.RENAMED_FIELDS.value: 0.0}).drift.names


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_that_assumes_the_usual_field_names_fails(seed: int, play_all: PlayAll) -> None:
    skipper = ablation_of(NAME, Kind.RENAMED_FIELDS)
    assert skipper is not None
    players = (fair_player(NAME), skipper)
    specs = [EpisodeSpec(scenario=NAME, player=player, seed=seed, chaos=1, overrides=RENAMED) for player in players]
    fair, skips = play_all(specs)
    assert fair.result.success
    assert not skips.result.success


def test_values_under_maintenance_become_fresh_at_the_same_time(play_all: PlayAll) -> None:
    (kept,) = play_all([EpisodeSpec(scenario=NAME, player=fair_player(NAME), seed=MAINTENANCE, chaos=1)])
    assert kept.result.success
