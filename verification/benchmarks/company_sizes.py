"""Cost of a large company: its first reset, later resets, reads and searches, and memory per open episode."""

from __future__ import annotations

from statistics import median

import aiohttp

from companyos.contract import CompanySize
from companyos.enterprise import Enterprise
from verification.benchmarks.clients import (
    READ,
    SCENARIO,
    WRITE,
    CompanyPlayer,
    HttpClient,
    WebSocketClient,
    timed_reset,
)
from verification.benchmarks.enterprise import TOUCH
from verification.benchmarks.measurements import Measurements, p50_us
from verification.process_stats import process_tree, resident_bytes

LARGE = f"{SCENARIO}-{CompanySize.LARGE}"
SEEDS = range(300_000, 300_020)
WARM_UP = 3
"""Number of episodes opened before the memory measurement."""

SEARCH = ("ticketdesk_search_tickets", {"query": "vendor onboarding"})


async def measure_large_company(url: str, measurements: Measurements, scale: float) -> None:
    """Measure resets of SEEDS, reads and searches. The servers must not have loaded a large company before."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{url}/ws", compress=0, max_msg_size=0) as socket,
    ):
        client = WebSocketClient(socket, scenario=LARGE)
        player = CompanyPlayer(client, SEEDS[0])
        first, *new = [await timed_reset(client, seed) for seed in SEEDS]
        seen = [await timed_reset(client, SEEDS[0]) for _ in range(max(3, round(200 * scale)))]
        await player.begin()
        rounds = max(3, round(50 * scale))
        reads = [await player.step(READ) for _ in range(rounds)]
        searches = [await player.call(*SEARCH) for _ in range(rounds)]
    measurements.add("first reset of a large company", first, "s")
    measurements.add("reset of a new task in a large company, p50", median(new) * 1e3, "ms", target="<= 300 ms")
    measurements.add("reset of a cached task in a large company, p50", median(seen) * 1e3, "ms", target="<= 1 ms")
    measurements.add("read in a large company, p50", p50_us(reads), "us")
    measurements.add("search of 19,000 tickets, p50", median(searches) * 1e3, "ms")


async def measure_large_memory(enterprise: Enterprise, measurements: Measurements) -> None:
    """Measure memory per open episode of SEEDS with a write and a search.

    Requires new processes, whose heaps are not fragmented, on data folders that contain the tasks.
    """
    if enterprise.pid is None:
        return
    async with aiohttp.ClientSession() as session:
        for seed in SEEDS[:WARM_UP]:
            await _open_episode(session, enterprise.url, seed)
        members = process_tree(enterprise.pid)
        before = {member: resident_bytes(member) for member in members}
        for seed in SEEDS[WARM_UP:]:
            await _open_episode(session, enterprise.url, seed)
    for member, role in members.items():
        grown = (resident_bytes(member) - before[member]) / (len(SEEDS) - WARM_UP) / 1024
        measurements.add(f"memory per open episode in a large company, {role}", grown, "KiB", target="<= 1024 KiB")


async def _open_episode(session: aiohttp.ClientSession, url: str, seed: int) -> None:
    player = CompanyPlayer(HttpClient(session, url, scenario=LARGE), seed)
    await player.begin()
    await player.step(WRITE)
    await player.call(*SEARCH)
    for tool, arguments in TOUCH:
        await player.call(tool, arguments)
