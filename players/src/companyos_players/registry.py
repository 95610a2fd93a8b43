"""Looks up the scripted players of a scenario by its name.

The players of a scenario are one module with `play` and `WORKER`, from which ablations and adversaries are derived,
`ADVERSARIES` and `REQUIRED_CHAOS`: `scenarios/<scenario>.py` for a built-in scenario, and an entry point of the group
`companyos.players` for one of another package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import cast

from companyos.entry_points import EntryPointError, find_entry_points, load_entry_point
from companyos.policies import Call, TaskView
from companyos_players.ablations import ablation
from companyos_players.field_names import restoring_field_names
from companyos_players.player import Player
from companyos_players.shift import player_for
from companyos_players.worker import Worker

ENTRY_POINTS = "companyos.players"
"""Group of the entry points by which installed packages add the players of their scenarios."""

IGNORES_FIELD_NAMES = "ignore_names"
"""The adversary of every scenario that assumes the usual field names."""

RENAMED_FIELDS = "renamed_fields"
"""The chaos kind that renames response fields."""


class NoPlayersError(LookupError):
    """Raised for a scenario without scripted players."""

    def __init__(self, scenario: str) -> None:
        super().__init__(
            f"The scenario {scenario!r} has no players; its package adds them by an entry point of the "
            f"group {ENTRY_POINTS} with this name"
        )


@dataclass(frozen=True)
class Adversaries:
    """The adversaries of a scenario by name.

    `required_chaos` maps an adversary to the chaos kind without which it omits nothing and may succeed.
    """

    players: Mapping[str, Player]
    required_chaos: Mapping[str, str]


def fair_player(scenario: str) -> Player:
    """Return the fair oracle of a scenario or a shift. Raises NoPlayersError, and EntryPointError if it is unusable."""
    return player_for(scenario, lambda name: restoring_field_names(_fair_play(name)))


def worker_class(scenario: str) -> type[Worker] | None:
    """Return the worker of the fair oracle, or None if the scenario has no ticket workflow (metrics_report)."""
    return cast("type[Worker] | None", _module(scenario).WORKER)


def adversaries_of(scenario: str) -> Adversaries:
    """Return the adversaries of a scenario; all but IGNORES_FIELD_NAMES read answers by the published field names."""
    module = _module(scenario)
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
    return cast(Player, _module(scenario).play)


@cache
def _module(scenario: str) -> ModuleType:
    """Return the module with the players of a scenario."""
    point, name = find_entry_points(ENTRY_POINTS).get(scenario), f"companyos_players.scenarios.{scenario}"
    is_builtin = find_spec(name) is not None
    if point is None:
        if not is_builtin:
            raise NoPlayersError(scenario)
        return import_module(name)
    if is_builtin:
        raise EntryPointError(point, "a built-in scenario has this name")
    module = load_entry_point(point)
    if not isinstance(module, ModuleType):
        raise EntryPointError(point, f"must be a module; got {type(module).__name__}")
    for name, fits, expected in _MEMBERS:
        if not fits(getattr(module, name, None)):
            raise EntryPointError(point, f"{name} must be {expected}; got {getattr(module, name, None)!r}")
    return module


def _is_worker(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Worker)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


_MEMBERS = (
    ("play", callable, "a function that plays a task"),
    ("WORKER", _is_worker, "a subclass of companyos_players.Worker"),
    ("ADVERSARIES", _is_mapping, "a mapping of names to players"),
    ("REQUIRED_CHAOS", _is_mapping, "a mapping of names to chaos kinds"),
)
"""The members of a module with players: name, test, and a description of the expected value."""


def _without_field_names(player: Player) -> Player:
    async def play(task: TaskView, call: Call) -> None:
        """Play with the usual field names."""
        await player(task, call)

    play.__name__ = IGNORES_FIELD_NAMES
    return play
