"""The fair oracle solves every variant of the scenario, and every ground for a refusal."""

from __future__ import annotations

import asyncio

from parking_permit.scenario import SCENARIO, Ground, Variant

from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_players.registry import fair_player
from verification.proof import play
from verification.structures import STRUCTURE_LEVEL, first_seeds

SEEDS = first_seeds(SCENARIO)


async def find_unsolved() -> list[str]:
    """Play an instance of each structure on a gateway with its services, and return those that fail."""
    player, unsolved = fair_player(SCENARIO.name), []
    runtime = GatewayRuntime(Settings(start_timeout_s=120))
    async with runtime.running():
        for structure, seed in SEEDS.items():
            result = await play(runtime.engine(), SCENARIO.name, "fair", player, seed=seed, chaos=STRUCTURE_LEVEL)
            unsolved += [] if result.success else [f"{structure}: {result.place}"]
    return unsolved


def test_every_structure_occurs() -> None:
    assert SEEDS.keys() == {*Variant, *(f"refused: {ground}" for ground in Ground)}


def test_the_oracle_solves_every_structure() -> None:
    assert asyncio.run(find_unsolved()) == []
