"""Finds the privileged oracle of a scenario: a player that knows the hidden facts of an instance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import cast

from companyos.policies import Call
from companyos_gateway.scenarios import catalogue
from companyos_players.field_names import rename_fields

PrivilegedPlayer = Callable[[int, int, Call], Awaitable[None]]
"""Plays the instance of a seed and chaos level, whose hidden facts it knows."""


def privileged_player(scenario: str) -> PrivilegedPlayer:
    """Return the privileged oracle of a scenario; it knows
    the renamed fields of the instance.
    """
    player = cast(PrivilegedPlayer, import_module(f"verification.privileged.{scenario}").play_seed)

    async def play_seed(seed: int, chaos: int, call: Call) -> None:
        names = catalogue()[scenario].plan(seed, chaos).drift.names
        await player(seed, chaos, rename_fields(names, call))

    return play_seed
