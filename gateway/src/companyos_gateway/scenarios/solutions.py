"""The solutions of a scenario, for tests and proofs: what each folder's `solution/` offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from companyos.policies import Call, TaskView
from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.catalogue import catalogue
from companyos_gateway.scenarios.policy import FairPlayer, reader
from companyos_gateway.scenarios.skills import Worker
from companyos_gateway.scenarios.skills.reading import named
from companyos_gateway.scenarios.skills.skipping import skipper

KnowingPlayer = Callable[[int, int, Call], Awaitable[None]]
"""Plays the instance of a seed and chaos level, whose hidden facts it knows."""


@dataclass(frozen=True)
class Solutions:
    """Who plays a scenario: the oracles, which succeed, and the cheats, which must not.

    `needs` names for a cheat the kind of chaos without which it leaves nothing out.
    """

    fair: FairPlayer
    clairvoyant: KnowingPlayer
    cheats: Mapping[str, Callable[[TaskView, Call], Awaitable[None]]]
    needs: Mapping[str, str]


IGNORES_NAMES = "ignore_names"
"""The cheat of every scenario that takes the usual names of fields for granted."""


def solutions_of(scenario: str) -> Solutions:
    """Return the solutions of a scenario; all but one cheat read answers by the names that tools give."""
    folder = f"companyos_gateway.scenarios.{scenario}.solution"
    fair, clairvoyant, cheats = (import_module(f"{folder}.{name}") for name in ("fair", "clairvoyant", "cheats"))
    reading = {name: reader(cheat) for name, cheat in cheats.CHEATS.items()}
    return Solutions(
        fair=reader(fair.play),
        clairvoyant=_knowing(scenario, clairvoyant.play_seed),
        cheats={**reading, IGNORES_NAMES: _ignoring_names(fair.play)},
        needs={**cheats.NEEDS, IGNORES_NAMES: Kind.RENAMED_FIELDS.value},
    )


def skipper_of(scenario: str, kind: Kind) -> FairPlayer | None:
    """Return who plays a scenario without what a kind of chaos asks for, None where nobody is known.

    It is the scenario's fair worker with that part left out.
    """
    if kind is Kind.RENAMED_FIELDS:
        module = import_module(f"companyos_gateway.scenarios.{scenario}.solution.fair")
        return cast(FairPlayer, module.play)
    worker = worker_of(scenario)
    player = None if worker is None else skipper(kind.value, worker)
    return None if player is None else reader(player)


def worker_of(scenario: str) -> type[Worker] | None:
    """Return the fair worker of a scenario, None where its fair solution is none."""
    module = import_module(f"companyos_gateway.scenarios.{scenario}.solution.fair")
    own = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Worker)]
    workers = [one for one in own if one.__module__ == module.__name__]
    return workers[-1] if workers else None


def _ignoring_names(player: FairPlayer) -> FairPlayer:
    """Return the player as a cheat of its own name: nobody reads its answers for it."""

    async def play(task: TaskView, call: Call) -> None:
        """Take the usual names of fields for granted."""
        await player(task, call)

    play.__name__ = IGNORES_NAMES
    return play


def _knowing(scenario: str, player: KnowingPlayer) -> KnowingPlayer:
    """Return the player with the usual names in the answers: it knows which ones the instance has instead."""

    async def play_seed(seed: int, chaos: int, call: Call) -> None:
        names = catalogue()[scenario].plan(seed, chaos).drift.names
        await player(seed, chaos, named(names, call))

    return play_seed
