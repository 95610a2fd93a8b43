"""The oracle solves the scenario, whatever has to be done in it."""

from __future__ import annotations

import asyncio

from parking_permit.scenario import Variant

from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios import catalogue
from companyos_gateway.settings import Settings
from companyos_players.registry import fair_player
from verification.proof import EpisodeResult, play

NAME, LEVEL = "parking_permit", 2


def first_seed(variant: Variant) -> int:
    """Return the first seed whose instance has the variant."""
    scenario = catalogue()[NAME]
    return next(seed for seed in range(100) if scenario.plan(seed, LEVEL).variant == variant)


async def play_every_variant() -> list[EpisodeResult]:
    """Play an instance of each variant on a gateway with its services."""
    runtime = GatewayRuntime(Settings())
    async with runtime.running():
        engine = runtime.engine()
        return [
            await play(engine, NAME, "fair", fair_player(NAME), seed=first_seed(one), chaos=LEVEL) for one in Variant
        ]


def test_the_oracle_solves_every_variant() -> None:
    failed = [episode.place for episode in asyncio.run(play_every_variant()) if not episode.success]
    assert failed == []
