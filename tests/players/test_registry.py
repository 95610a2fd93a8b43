"""Every scenario has scripted players, and they use the chaos kinds of the gateway."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.catalogue import builtin_names
from companyos_players.ablations import ABLATIONS, CLIENT_ABLATIONS
from companyos_players.distraction import DISTRACTIONS
from companyos_players.registry import RENAMED_FIELDS, adversaries_of, fair_player, worker_class
from companyos_players.worker import Worker
from verification.privileged.outcome_oracle import privileged_player

KINDS = {kind.value for kind in Kind}


@pytest.mark.parametrize("scenario", sorted(builtin_names()))
def test_every_scenario_has_players(scenario: str) -> None:
    worker = worker_class(scenario)
    assert worker is None or issubclass(worker, Worker)
    assert worker is None or worker.__module__ == f"companyos_players.scenarios.{scenario}"
    assert callable(fair_player(scenario))
    assert callable(privileged_player(scenario))
    adversaries = adversaries_of(scenario)
    assert len(adversaries.players) >= 6
    assert set(adversaries.required_chaos) <= set(adversaries.players)
    assert set(adversaries.required_chaos.values()) <= KINDS


def test_every_kind_of_chaos_that_a_player_names_exists() -> None:
    assert {*ABLATIONS, *CLIENT_ABLATIONS, *DISTRACTIONS, RENAMED_FIELDS} <= KINDS
