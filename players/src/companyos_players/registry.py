"""Looks up the scripted players of a scenario by its name.

`fair/<scenario>.py` declares `play` and `WORKER`, `adversaries/<scenario>.py` declares `ADVERSARIES` and
`REQUIRED_CHAOS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from companyos.policies import Call, TaskView
from companyos_players.ablations import ablation
from companyos_players.field_names import restoring_field_names
from companyos_players.player import Player
from companyos_players.worker import Worker

IGNORES_FIELD_NAMES = "ignore_names"
"""The adversary of every scenario that assumes the usual field names."""

RENAMED_FIELDS = "renamed_fields"
"""The chaos kind that renames response fields."""


@dataclass(frozen=True)
class Adversaries:
    """The adversaries of a scenario by name.

    `required_chaos` maps an adversary to the chaos kind without which it omits nothing and may succeed.
    """

    players: Mapping[str, Player]
    required_chaos: Mapping[str, str]


def fair_player(scenario: str) -> Player:
    """Return the fair oracle of a scenario. Raises ModuleNotFoundError for a scenario without one."""
    return restoring_field_names(_fair_play(scenario))


def worker_class(scenario: str) -> type[Worker] | None:
    """Return the worker of the fair oracle, or None if the scenario has no ticket workflow (metrics_report)."""
    return cast("type[Worker] | None", import_module(f"companyos_players.fair.{scenario}").WORKER)


def adversaries_of(scenario: str) -> Adversaries:
    """Return the adversaries of a scenario; all but IGNORES_FIELD_NAMES read answers by the published field names."""
    module = import_module(f"companyos_players.adversaries.{scenario}")
    players = {name: restoring_field_names(player) for name, player in module.ADVERSARIES.items()}
    return Adversaries(
        players={**players, IGNORES_FIELD_NAMES: _without_field_names(_fair_play(scenario))},
        required_chaos={**module.REQUIRED_CHAOS, IGNORES_FIELD_NAMES: RENAMED_FIELDS},
    )


def ablation_of(scenario: str, chaos_kind: str) -> Player | None:
    """Return the fair oracle without its handling of one chaos kind, or None if there is no such player."""
    if chaos_kind == RENAMED_FIELDS:
        return _fair_play(scenario)
    worker = worker_class(scenario)
    player = None if worker is None else ablation(str(chaos_kind), worker)
    return None if player is None else restoring_field_names(player)


def _fair_play(scenario: str) -> Player:
    return cast(Player, import_module(f"companyos_players.fair.{scenario}").play)


def _without_field_names(player: Player) -> Player:
    async def play(task: TaskView, call: Call) -> None:
        """Play with the usual field names."""
        await player(task, call)

    play.__name__ = IGNORES_FIELD_NAMES
    return play
