"""A process of row E that plays episodes and prints one digest of all observations.

`python -m verification.proof.determinism_worker --at-once 8 --seed 0 --level 3 [--restored] NAME...`
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from typing import Any

from companyos.policies import load_policy
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.engine.snapshots import Snapshots
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_players.player import Player
from companyos_players.registry import fair_player
from companyos_shared.streams import digest
from verification.proof.episode_runner import record_episode
from verification.proof.players.oracles import FAIR

START_TIMEOUT_S = 120.0
RANDOM = "random"
RESTORED_EVERY = 9
UNDONE_STEPS: tuple[tuple[str, dict[str, Any]], ...] = (("ticketdesk_list_tickets", {}), ("wait", {"minutes": 600}))
"""Steps taken before a restore, which must undo all their effects."""


class RestoringEngine(EpisodeEngine):
    """An engine that regularly takes extra steps and undoes them by restoring a snapshot."""

    def __init__(self, engine: EpisodeEngine, snapshots: Snapshots) -> None:
        super().__init__(engine.service_clients, engine.toolbox, engine.task_cache, engine.store, engine.metrics)
        self._snapshots = snapshots

    async def step(
        self, episode: Episode, tool_name: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Take a step; at regular intervals, take and undo extra steps first."""
        if episode.step % RESTORED_EVERY == 1:
            taken = await self._snapshots.take(episode)
            for tool, extra_arguments in UNDONE_STEPS:
                if not episode.done:
                    await super().step(episode, tool, extra_arguments)
            await self._snapshots.restore(episode, taken.id)
            await self._snapshots.delete(taken.id)
        return await super().step(episode, tool_name, arguments, number=number)


async def digest_of(scenarios: list[str], *, seed: int, level: int, at_once: int, restored: bool = False) -> str:
    """Return one digest over the episodes of both players in every scenario, played concurrently.

    If `at_once` exceeds the number of episodes, each is played several times; repeats that differ change the digest.
    """
    runtime = GatewayRuntime(Settings(start_timeout_s=START_TIMEOUT_S))
    async with runtime.running():
        engine, semaphore = runtime.engine(), asyncio.Semaphore(at_once)
        engine = RestoringEngine(engine, runtime.snapshots()) if restored else engine
        players: dict[str, Player] = {RANDOM: load_policy(RANDOM).play}
        pairs = [(name, player_name) for name in scenarios for player_name in (FAIR, *players)]
        episodes = pairs * -(-at_once // len(pairs))

        async def digest_one(name: str, player_name: str) -> str:
            async with semaphore:
                return await _episode_line(
                    engine, name, player_name, players.get(player_name) or fair_player(name), seed=seed, level=level
                )

        return digest(sorted(set(await asyncio.gather(*(digest_one(*episode) for episode in episodes)))))


async def _episode_line(
    engine: EpisodeEngine, name: str, player_name: str, player: Player, *, seed: int, level: int
) -> str:
    kept = await record_episode(engine, name, player_name, player, seed=seed, chaos=level)
    return f"{name} {player_name} {kept.result.digest}"


def main() -> int:
    """Print the digest."""
    parser = argparse.ArgumentParser(prog="python -m verification.proof.determinism_worker", description=__doc__)
    parser.add_argument("scenarios", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--restored", action="store_true", help="restore every episode repeatedly")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    settings = {"seed": options.seed, "level": options.level, "at_once": options.at_once, "restored": options.restored}
    result = asyncio.run(digest_of(options.scenarios, **settings))
    sys.stdout.write(f"{result}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
