"""The oracle solves every variant of the scenario, and every ground for a refusal."""

from __future__ import annotations

import asyncio

import pytest
from parking_permit.scenario import SCENARIO, Ground, Variant

from companyos_gateway.chaos import profile_for
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_players.registry import fair_player
from verification.proof import EpisodeResult, play

LEVEL, SEEDS = 2, 500


def first_seed(structure: Variant | Ground) -> int:
    """Return the first seed of an instance with the variant that is not refused, or with the ground."""
    for seed in range(SEEDS):
        case = SCENARIO.build(seed, profile_for(LEVEL), {}).case
        if structure == (case.variant if case.refusal is None else case.refusal.code):
            return seed
    raise LookupError(f"no seed below {SEEDS} has {structure}")


async def solve(seed: int) -> EpisodeResult:
    """Play an instance on a gateway with its services."""
    runtime = GatewayRuntime(Settings())
    async with runtime.running():
        return await play(runtime.engine(), SCENARIO.name, "fair", fair_player(SCENARIO.name), seed=seed, chaos=LEVEL)


@pytest.mark.parametrize("structure", [*Variant, *Ground])
def test_the_oracle_solves_it(structure: Variant | Ground) -> None:
    result = asyncio.run(solve(first_seed(structure)))
    assert result.success, result.place
