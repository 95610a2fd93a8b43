"""Metrics reports: where fields have another name, one of them is always one that no report can do without."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.metrics_report.scenario import REQUIRED_FIELDS
from companyos_players.registry import ablation_of
from tests.scenarios.engine import EpisodeSpec, PlayAll
from verification.privileged.solutions import solutions_for

NAME = "metrics_report"
RENAMED = {Kind.RENAMED_FIELDS.value: 1.0}
NOTHING_NEEDED = (9, 13, 16, 23, 26, 38)
"""Seeds in which nothing that a report needs is drawn at first to have another name."""


@pytest.mark.parametrize("seed", range(40))
def test_what_has_another_name_is_needed_and_told(seed: int) -> None:
    instance = catalogue()[NAME].plan(seed, 1, RENAMED)
    renamed = {
        f"{service}.{usual}": name for service, table in instance.drift.names.items() for usual, name in table.items()
    }
    assert renamed.keys() & REQUIRED_FIELDS
    (output,) = (one.detail for one in instance.injections if one.kind is Kind.RENAMED_FIELDS)
    assert output == renamed


@pytest.mark.parametrize("seed", NOTHING_NEEDED)
def test_who_takes_the_usual_names_for_granted_fails(seed: int, play_all: PlayAll) -> None:
    skipper = ablation_of(NAME, Kind.RENAMED_FIELDS)
    assert skipper is not None
    players = (solutions_for(NAME).fair, skipper)
    specs = [EpisodeSpec(scenario=NAME, player=player, seed=seed, chaos=1, overrides=RENAMED) for player in players]
    fair, skips = play_all(specs)
    assert fair.result.success
    assert not skips.result.success


def test_without_drift_no_field_has_another_name() -> None:
    assert not catalogue()[NAME].plan(9, 1, {Kind.RENAMED_FIELDS.value: 0.0}).drift.names
