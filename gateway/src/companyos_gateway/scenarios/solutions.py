"""The solutions of a scenario, for tests and proofs: what each folder's `solution/` offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from companyos.policies import Call, TaskView
from companyos_gateway.scenarios.policy import FairPlayer, fair_player

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


def solutions_of(scenario: str) -> Solutions:
    """Return the solutions of a scenario."""
    folder = f"companyos_gateway.scenarios.{scenario}.solution"
    clairvoyant, cheats = import_module(f"{folder}.clairvoyant"), import_module(f"{folder}.cheats")
    return Solutions(fair_player(scenario), clairvoyant.play_seed, cheats.CHEATS, cheats.NEEDS)
