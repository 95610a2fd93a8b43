"""Finds the privileged oracle of a scenario: a player that knows the hidden facts of an instance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from companyos.policies import Call
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.task import RubricFactory
from companyos_players import ToolClient
from companyos_players.field_names import rename_fields
from verification.privileged.outcome_oracle import OutcomeOracle

PrivilegedPlayer = Callable[[int, int, Call], Awaitable[None]]
"""Plays the instance of a seed and chaos level, with knowledge of its hidden facts."""


def privileged_player(scenario: str) -> PrivilegedPlayer:
    """Return the privileged oracle of a scenario; it also knows field names that the instance's drift renamed."""

    async def play_seed(seed: int, chaos: int, call: Call) -> None:
        instance = catalogue()[scenario].plan(seed, chaos)
        case = cast(RubricFactory, instance.build_rubric).case
        player = OutcomeOracle(case, ToolClient(rename_fields(instance.drift.names, call)))
        reactions = instance.documents["approvalflow"]["reactions"]
        player.answers = {row["reason"]: str(row["accepted"][0]) for row in reactions if row["accepted"]}
        await player.work()

    return play_seed
