"""Cost of workers: how evenly sessions are shared out, and processor time per step compared with one gateway.

On a machine with more cores than one gateway uses, the rates also show what workers gain.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

import aiohttp

from companyos.enterprise import Enterprise
from verification.benchmarks.clients import READ, WRITE, CompanyPlayer, WebSocketClient
from verification.benchmarks.measurements import Measurements
from verification.process_stats import cpu_seconds, process_tree

WORKERS = 2
SESSIONS = 64
STEPS = 100
"""Steps of each session in a round; three of four are reads."""

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
    """Measure one gateway and WORKERS of them in alternating rounds of the same sessions."""
    with Enterprise(alone=True) as one, Enterprise(workers=WORKERS, alone=True) as several:
        costs = {one: _Cost(), several: _Cost()}
        await _play(several, _Cost(), max(4, round(STEPS * scale / 5)))
        await _play(one, _Cost(), max(4, round(STEPS * scale / 5)))
        for _ in range(ROUNDS):
            for enterprise, cost in costs.items():
                shares = await _play(enterprise, cost, max(4, round(STEPS * scale)))
    per_step = {enterprise: cost.cpu_s / cost.steps for enterprise, cost in costs.items()}
    rates = {enterprise: cost.steps / cost.wall_s for enterprise, cost in costs.items()}
    measurements.add(f"sessions of the busiest of {WORKERS} workers, of {SESSIONS}", max(shares), "")
    measurements.add("processor time per step, one gateway", per_step[one] * 1e6, "us")
    measurements.add(f"processor time per step, {WORKERS} workers", per_step[several] * 1e6, "us")
    router = costs[several].router_cpu_s / costs[several].steps
    measurements.add("processor time per step, router", router * 1e6, "us")
    measurements.add(
        f"processor time per step, {WORKERS} workers to one", per_step[several] / per_step[one], "x", target="<= 1.1 x"
    )
    measurements.add(f"steps/s of {SESSIONS} sessions, {WORKERS} workers to one", rates[several] / rates[one], "x")


async def _play(enterprise: Enterprise, cost: _Cost, steps: int) -> list[int]:
    """Play the steps in SESSIONS at once and add their cost. Return the sessions of each worker."""
    assert enterprise.pid is not None
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        players = []
        for number in range(SESSIONS):
            socket = await stack.enter_async_context(
                session.ws_connect(f"{enterprise.url}/ws", compress=0, max_msg_size=0)
            )
            players.append(CompanyPlayer(WebSocketClient(socket), SEEDS[number % len(SEEDS)]))
        await asyncio.gather(*(player.begin() for player in players))
        shares = await _shares(session, enterprise.url)
        before, router_before = _cpu_seconds(enterprise.pid), cpu_seconds(enterprise.pid)
        began = time.perf_counter()
        await asyncio.gather(*(_steps(player, steps) for player in players))
        cost.wall_s += time.perf_counter() - began
        cost.cpu_s += _cpu_seconds(enterprise.pid) - before
        cost.router_cpu_s += cpu_seconds(enterprise.pid) - router_before
        cost.steps += SESSIONS * steps
    return shares


async def _steps(player: CompanyPlayer, steps: int) -> None:
    for number in range(steps):
        await player.step(MIX[number % len(MIX)])


async def _shares(session: aiohttp.ClientSession, url: str) -> list[int]:
    async with session.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return [int(float(line.split()[-1])) for line in lines if line.startswith("companyos_worker_websockets{")]


def _cpu_seconds(root: int) -> float:
    return sum(cpu_seconds(process) for process in process_tree(root))
