"""The fair oracle solves every variant of the scenario, and every ground for a refusal."""

from __future__ import annotations

import asyncio

from parking_permit.scenario import SCENARIO, Ground, Variant

from companyos_gateway.chaos import profile_for
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_players.registry import fair_player
from verification.proof import play

LEVEL, SEEDS = 2, 500


def first_seed(structure: Variant | Ground) -> int:
    """Return the first seed of an instance with the variant that is not refused, or with the ground."""
    for seed in range(SEEDS):
        case = SCENARIO.build(seed, profile_for(LEVEL), {}).case
        if structure == (case.variant if case.refusal is None else case.refusal.code):
            return seed
    raise LookupError(f"no seed below {SEEDS} has {structure}")


async def find_unsolved() -> list[str]:
    """Play an instance of each structure on a gateway with its services, and return those that fail."""
    player, unsolved = fair_player(SCENARIO.name), []
    runtime = GatewayRuntime(Settings(start_timeout_s=120))
    async with runtime.running():
        for structure in (*Variant, *Ground):
            seed = first_seed(structure)
            result = await play(runtime.engine(), SCENARIO.name, "fair", player, seed=seed, chaos=LEVEL)
            unsolved += [] if result.success else [f"{structure}: {result.place}"]
    return unsolved


def test_the_oracle_solves_every_structure() -> None:
    assert asyncio.run(find_unsolved()) == []
