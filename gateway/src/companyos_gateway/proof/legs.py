"""One leg of row E: a process that plays episodes and prints one digest of everything that was observed.

`python -m companyos_gateway.proof.legs --at-once 8 --seed 0 --level 3 NAME...`
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys

from companyos.policies import load_policy
from companyos_gateway.episode.environment import Stage
from companyos_gateway.proof.players.oracles import FAIR, fair_of
from companyos_gateway.proof.playing import Player, keep
from companyos_gateway.server.house import House
from companyos_gateway.settings import Settings
from companyos_shared.streams import digest

START_S = 120.0
RANDOM = "random"


async def digest_of(scenarios: list[str], *, seed: int, level: int, at_once: int) -> str:
    """Return one digest over the episodes of both players in every scenario, so many of them at once."""
    house = House(Settings(start_timeout_s=START_S))
    async with house.running():
        stage, gate = house.stage(), asyncio.Semaphore(at_once)
        players: dict[str, Player] = {RANDOM: load_policy(RANDOM).play}
        wanted = [(name, who) for name in scenarios for who in (FAIR, *players)]

        async def digest_one(name: str, who: str) -> str:
            async with gate:
                return await _played(stage, name, who, players.get(who) or fair_of(name), seed=seed, level=level)

        return digest(await asyncio.gather(*(digest_one(*one) for one in wanted)))


async def _played(stage: Stage, name: str, who: str, player: Player, *, seed: int, level: int) -> str:
    kept = await keep(stage, name, who, player, seed=seed, chaos=level)
    return f"{name} {who} {kept.played.digest}"


def main() -> int:
    """Print the digest."""
    parser = argparse.ArgumentParser(prog="python -m companyos_gateway.proof.legs", description=__doc__)
    parser.add_argument("scenarios", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=1)
    asked = parser.parse_args()
    logging.disable(logging.ERROR)
    found = asyncio.run(digest_of(asked.scenarios, seed=asked.seed, level=asked.level, at_once=asked.at_once))
    sys.stdout.write(f"{found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
