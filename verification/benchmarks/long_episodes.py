"""Cost of long episodes: resets of a month's shift, and steps after 20 and after 800 others."""

from __future__ import annotations

from contextlib import AsyncExitStack
from statistics import median

import aiohttp

from verification.benchmarks.clients import KINDS, READ, WRITE, CompanyPlayer, WebSocketClient, timed_reset
from verification.benchmarks.measurements import Measurements, p50_us

SCENARIO = "shift-month"
SEED, NEW_SEEDS = 3, 200_000
EARLY, LATE = 20, 800
ROUNDS, BURST = 10, 10
"""Number and size of bursts after LATE steps; with them, the episode stays below its step limit of 1,000."""


async def measure_long_episodes(url: str, measurements: Measurements, scale: float) -> None:
    """Measure over WebSockets, alternating between the two lengths."""
    async with aiohttp.ClientSession() as session, AsyncExitStack() as stack:
        young, old = [
            CompanyPlayer(
                WebSocketClient(
                    await stack.enter_async_context(session.ws_connect(f"{url}/ws", compress=0, max_msg_size=0)),
                    scenario=SCENARIO,
                ),
                SEED,
            )
            for _ in range(2)
        ]
        new_seeds = range(NEW_SEEDS, NEW_SEEDS + max(3, round(10 * scale)))
        new = [await timed_reset(young.client, seed) for seed in new_seeds]
        seen = [await timed_reset(young.client, NEW_SEEDS) for _ in range(max(3, round(200 * scale)))]
        await old.begin()
        await _take_steps(old, LATE)
        seconds: dict[tuple[int, str], list[float]] = {(length, kind): [] for length in (EARLY, LATE) for kind in KINDS}
        for _ in range(max(3, round(ROUNDS * scale))):
            await young.begin()
            await _take_steps(young, EARLY)
            for length, player in ((EARLY, young), (LATE, old)):
                for kind in KINDS:
                    seconds[length, kind] += [await player.step(kind) for _ in range(BURST)]
    measurements.add("reset of a new shift-month, p50", median(new) * 1e3, "ms", target="<= 400 ms")
    measurements.add("reset of a cached shift-month, p50", median(seen) * 1e3, "ms", target="<= 1 ms")
    for kind in KINDS:
        early, late = (p50_us(seconds[length, kind]) for length in (EARLY, LATE))
        measurements.add(f"{kind} of a shift after {EARLY} steps, p50", early, "us")
        measurements.add(f"{kind} of a shift after {LATE} steps, p50", late, "us", target=f"<= {1.3 * early:.0f} us")


async def _take_steps(player: CompanyPlayer, count: int) -> None:
    for number in range(count):
        await player.step(WRITE if number % 4 == 0 else READ)
