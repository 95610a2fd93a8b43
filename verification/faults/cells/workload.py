"""Workloads that run while a fault is injected; each continues until stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from verification.faults.player import Player
from verification.faults.trial import Trial, gather_all

Work = Callable[[Trial, Player, asyncio.Event], Awaitable[None]]

MAX_PLAYED = 40
MAX_RESETS = 6
MAX_SNAPSHOTS = 8
MAX_FORKS = 2
STEPS_TO_REACH_ALL_SERVICES = 6
"""Number of consecutive steps that write to every service, from any starting step."""

NEW_SEEDS = range(1_000, 1_000_000)


async def stepping(_trial: Trial, player: Player, stop: asyncio.Event) -> None:
    """Take steps."""
    while not stop.is_set() and player.step_count < MAX_PLAYED:
        if not await player.step():
            return


async def resetting(trial: Trial, player: Player, stop: asyncio.Event) -> None:
    """Reset episodes; the first player also resets one with a new seed."""
    fresh = trial.player(trial.rng.choice(NEW_SEEDS)) if player is trial.players[0] else None
    if fresh is not None:
        await fresh.open()
    for _ in range(MAX_RESETS):
        if stop.is_set():
            break
        opened = trial.player()
        await opened.open()
        await _step_into_every_service(opened)
    await stop.wait()
    if fresh is not None and fresh.is_open:
        fresh.load_reference(await trial.load_reference(fresh.seed))


async def snapshotting(_trial: Trial, player: Player, stop: asyncio.Event) -> None:
    """Take a step and a snapshot, repeatedly."""
    while not stop.is_set() and len(player.snapshots) < MAX_SNAPSHOTS:
        if not await player.step() or await player.snapshot() is None:
            return


async def restoring(_trial: Trial, player: Player, stop: asyncio.Event) -> None:
    """Restore the snapshot and take steps in every service, repeatedly."""
    (snapshot,) = player.snapshots
    while not stop.is_set() and player.replay_number < MAX_PLAYED:
        if not await player.restore(snapshot) or not await _step_into_every_service(player):
            return


async def forking(trial: Trial, player: Player, stop: asyncio.Event) -> None:
    """Fork the snapshot, repeatedly."""
    (snapshot,) = player.snapshots
    for _ in range(MAX_FORKS):
        for forked_player in await player.fork(snapshot):
            trial.players.append(forked_player)
            await _step_into_every_service(forked_player)
        if stop.is_set():
            return


async def _step_into_every_service(player: Player) -> bool:
    """Take steps until each service has opened the new epoch."""
    return all([await player.step() for _ in range(STEPS_TO_REACH_ALL_SERVICES)])


WORK: dict[str, Work] = {
    "step": stepping,
    "reset": resetting,
    "snapshot": snapshotting,
    "restore": restoring,
    "fork": forking,
}
NEEDS_SNAPSHOT = frozenset({"restore", "fork"})


async def run_during(
    trial: Trial,
    work: str,
    strike: Callable[[], Awaitable[None]],
    *,
    players: int = 3,
    arm: Callable[[], Awaitable[None]] | None = None,
    retry: bool = True,
) -> None:
    """Run the players, inject the fault, wait for everything to finish, and judge the result.

    `arm` is called when all players have started. `strike` returns once the fault is over and dead processes are ready
    again. If `retry` is False, a player whose response was lost stops, and its pending step may have been applied or
    not.
    """
    open_players = await trial.open_players(players, snapshot=work in NEEDS_SNAPSHOT)
    for player in open_players:
        player.retries_requests = retry
    if arm is not None:
        await arm()
    stop = asyncio.Event()
    working = [asyncio.ensure_future(WORK[work](trial, player, stop)) for player in open_players]
    try:
        await strike()
    finally:
        stop.set()
        await gather_all(working)
    for player in () if retry else open_players:
        player.retries_requests = True
        await player.resolve_pending_step()
    await trial.judge()
