"""Cost of workers: the distribution of sessions, and processor time per step compared with one gateway.

Several separate gateways without a router show the cost of sharing the processor. On a machine with more cores than one
gateway uses, the rates also show the gain of workers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass

import aiohttp

from companyos.enterprise import Enterprise
from verification.benchmarks.clients import READ, WRITE, CompanyPlayer, WebSocketClient
from verification.benchmarks.measurements import Measurements
from verification.process_stats import cpu_seconds, tree_cpu_seconds

WORKERS = 2
SESSIONS = 64
STEPS = 100
"""Number of steps per session and round; three of four are reads."""

ROUNDS = 3
MIX = (READ, READ, READ, WRITE)
SEEDS = range(7, 15)


@dataclass
class _Cost:
    """Steps taken, with their processor time and duration in seconds."""

    steps: int = 0
    cpu_s: float = 0.0
    router_cpu_s: float = 0.0
    wall_s: float = 0.0


async def measure_workers(measurements: Measurements, scale: float) -> None:
    """Measure one gateway, WORKERS workers behind one address, and as many separate gateways, in alternating rounds."""
    steps = max(4, round(STEPS * scale))
    with ExitStack() as stack:
        one, *others = (stack.enter_context(Enterprise(alone=True)) for _ in range(WORKERS))
        workers = stack.enter_context(Enterprise(workers=WORKERS, alone=True))
        costs = {name: _Cost() for name in ("one gateway", f"{WORKERS} separate gateways", f"{WORKERS} workers")}
        for enterprise in (one, *others, workers):
            await _play([enterprise], _Cost(), max(4, steps // 5))
        for _ in range(ROUNDS):
            for enterprises, cost in zip(([one], [one, *others], [workers]), costs.values(), strict=True):
                shares = await _play(enterprises, cost, steps)
    measurements.add(f"sessions of the busiest of {WORKERS} workers, of {SESSIONS}", max(shares), "")
    for name, cost in costs.items():
        measurements.add(f"processor time per step, {name}", cost.cpu_s / cost.steps * 1e6, "us")
    alone, separate, several = costs.values()
    measurements.add("processor time per step, router", several.router_cpu_s / several.steps * 1e6, "us")
    for name, other, target in (("one", alone, "<= 1.1 x"), (f"{WORKERS} separate gateways", separate, "")):
        ratio = several.cpu_s / several.steps / (other.cpu_s / other.steps)
        measurements.add(f"processor time per step, {WORKERS} workers to {name}", ratio, "x", target=target)
    ratio = several.steps / several.wall_s / (alone.steps / alone.wall_s)
    measurements.add(f"steps/s of {SESSIONS} sessions, {WORKERS} workers to one", ratio, "x")


async def _play(enterprises: Sequence[Enterprise], cost: _Cost, steps: int) -> list[int]:
    """Play the steps in SESSIONS sessions at once and add their cost.

    Returns the number of sessions per worker of the first server.
    """
    pids = [enterprise.pid for enterprise in enterprises if enterprise.pid is not None]
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        players = []
        for number in range(SESSIONS):
            url = enterprises[number % len(enterprises)].url
            socket = await stack.enter_async_context(session.ws_connect(f"{url}/ws", compress=0, max_msg_size=0))
            players.append(CompanyPlayer(WebSocketClient(socket), SEEDS[number % len(SEEDS)]))
        await asyncio.gather(*(player.begin() for player in players))
        shares = await _shares(session, enterprises[0].url)
        cost.cpu_s -= sum(map(tree_cpu_seconds, pids))
        cost.router_cpu_s -= sum(map(cpu_seconds, pids))
        began = time.perf_counter()
        await asyncio.gather(*(_steps(player, steps) for player in players))
        cost.wall_s += time.perf_counter() - began
        cost.cpu_s += sum(map(tree_cpu_seconds, pids))
        cost.router_cpu_s += sum(map(cpu_seconds, pids))
        cost.steps += SESSIONS * steps
    return shares


async def _steps(player: CompanyPlayer, steps: int) -> None:
    for number in range(steps):
        await player.step(MIX[number % len(MIX)])


async def _shares(session: aiohttp.ClientSession, url: str) -> list[int]:
    async with session.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return [int(float(line.split()[-1])) for line in lines if line.startswith("companyos_worker_websockets{")]
