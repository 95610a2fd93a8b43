"""The measurements; each comparison alternates between its sides in one run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import aiohttp
import orjson

from companyos.enterprise import Enterprise
from verification.benchmarks.clients import (
    KINDS,
    READ,
    WRITE,
    CompanyPlayer,
    EchoPlayer,
    HttpClient,
    Player,
    WebSocketClient,
)
from verification.benchmarks.measurements import Measurements, p50_us
from verification.benchmarks.snapshots import SnapshotBenchmark
from verification.process_stats import folder_bytes, process_tree, resident_bytes

SEED = 7
BURST = 20
CONCURRENT = 64
MANY = 1000
TASKS = 8
"""Number of distinct tasks among many episodes, as in groups of rollouts."""

MIX = (READ, READ, READ, WRITE)
BYTES_PER_TOKEN = 4
PAUSE_S = 0.4
"""Pause before a reset during which a prefetched task is planned, in seconds."""

PREFETCHED = 30
"""Number of tasks planned ahead of consecutive resets; the gateway plans at most 32."""

Read = tuple[str, dict[str, Any]]

TOUCH: tuple[Read, ...] = (
    ("ticketdesk_list_tickets", {}),
    ("datahub_list_sources", {}),
    ("approvalflow_list_approval_types", {}),
)
"""One read in each service."""

DEFAULT_READS: tuple[Read, ...] = (
    *TOUCH,
    ("datahub_list_metrics", {}),
    ("datahub_search_policies", {"query": "vendor"}),
    ("datahub_search_people", {"query": "finance"}),
    ("approvalflow_list_approvals", {}),
)


class EnterpriseBenchmark:
    """One benchmark run against running servers and a running echo."""

    def __init__(
        self, enterprise: Enterprise, measurements: Measurements, scale: float, *, echo_url: str, data_dir: Path
    ) -> None:
        self._enterprise = enterprise
        self._echo_url = echo_url
        self._data_dir = data_dir
        self._measurements = measurements
        self._scale = scale

    async def run(self) -> None:
        """Measure everything except memory."""
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            self._session = session
            await self._steps()
            await self._resets()
            await SnapshotBenchmark(self._session, self._enterprise.url, self._measurements, self._scale).run()
            for concurrent in (1, CONCURRENT):
                await self._throughput(concurrent)
            await self._tokens()

    async def run_memory(self) -> None:
        """Measure memory of open episodes. Requires new processes, whose heaps are not fragmented."""
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            self._session = session
            await self._memory()

    async def _steps(self) -> None:
        """Measure the latency of one client, in alternating bursts."""
        async with self._echo() as echo, self._company(SEED) as socket:
            http = CompanyPlayer(HttpClient(self._session, self._enterprise.url), SEED)
            players: dict[str, Player] = {"bare echo": echo, "WebSocket": socket, "plain HTTP": http}
            durations = await _interleaved(players, rounds=self._scaled(40))
        for kind in KINDS:
            base = p50_us(durations["bare echo", kind])
            self._measurements.add(f"bare echo, {kind}, p50", base, "us", echo=base)
        for name in ("WebSocket", "plain HTTP"):
            for kind in KINDS:
                target = {READ: "<= 2.0x", WRITE: "<= 2.8x"}[kind] if name == "WebSocket" else ""
                value, base = p50_us(durations[name, kind]), p50_us(durations["bare echo", kind])
                self._measurements.add(f"step over {name}, {kind}, p50", value, "us", echo=base, target=target)

    async def _resets(self) -> None:
        """Measure resets of cached, new and prefetched tasks, with and without first calls, and `finish`."""
        async with self._company(SEED) as player:
            seen = [await _timed_reset(player) for _ in range(self._scaled(400))]
            touched = [await _timed_reset(player, touch=True) for _ in range(self._scaled(100))]
            ends = [await _timed_end(player) for _ in range(self._scaled(50))]
            new = [await _timed_reset(player, seed=100_000 + number, touch=True) for number in range(self._scaled(40))]
            paused = [await _timed_reset_after_pause(player, seed=SEED) for _ in range(self._scaled(40))]
            player.prefetch = 1
            prefetched_paused = [
                await _timed_reset_after_pause(player, seed=200_000 + number) for number in range(self._scaled(40))
            ]
            player.prefetch = count = self._scaled(PREFETCHED)
            await _timed_reset(player, seed=300_000)
            player.prefetch = 0
            await asyncio.sleep(PAUSE_S * count)
            prefetched = [await _timed_reset(player, seed=300_001 + number, touch=True) for number in range(count)]
        self._measurements.add("reset of a cached task, p50", median(seen) * 1e3, "ms", target="<= 1 ms")
        self._measurements.add("resets of a cached task", len(seen) / sum(seen), "/s")
        self._measurements.add(
            "reset and first call to each service, p50", median(touched) * 1e3, "ms", target="<= 4 ms"
        )
        for name, durations, target in (
            ("a new seed", new, "<= 20 ms"),
            ("a prefetched seed", prefetched, "<= 3 ms"),
            ("a prefetched seed after a pause", prefetched_paused[1:], ""),
            ("a cached task after a pause", paused, ""),
        ):
            named = f"reset of {name} and first calls, p50"
            self._measurements.add(named, median(durations) * 1e3, "ms", target=target)
        p95 = quantiles(new, n=20)[-1]
        self._measurements.add("reset of a new seed and first calls, p95", p95 * 1e3, "ms", target="<= 40 ms")
        self._measurements.add("end of an episode (finish), p50", median(ends) * 1e3, "ms", target="<= 4 ms")

    async def _throughput(self, concurrent: int) -> None:
        """Measure steps per second, with three reads per write, alternating with the echo."""
        async with AsyncExitStack() as stack:
            companies = [await stack.enter_async_context(self._company(SEED + n % TASKS)) for n in range(concurrent)]
            echoes = [await stack.enter_async_context(self._echo()) for _ in range(concurrent)]
            rates: dict[str, list[float]] = {"echo": [], "company": []}
            for _ in range(2):
                rates["echo"].append(await _rate(echoes, 1.5 * self._scale))
                rates["company"].append(await _rate(companies, 3 * self._scale))
        echo, company = sum(rates["echo"]) / 2, sum(rates["company"]) / 2
        target = ">= 0.55x" if concurrent == CONCURRENT else ""
        self._measurements.add(f"bare echo at {concurrent}", echo, "/s", echo=echo)
        self._measurements.add(f"steps at {concurrent} concurrent episodes", company, "/s", echo=echo, target=target)

    async def _tokens(self) -> None:
        """Estimate the tokens of all tool schemas and of default observations."""
        async with self._session.get(f"{self._enterprise.url}/v1/tools") as answer:
            tools = orjson.loads(await answer.read())
        self._measurements.add("tools", len(tools), "")
        self._measurements.add("tokens of all tool schemas", _tokens(tools), "tokens", target="<= 8000")
        client = HttpClient(self._session, self._enterprise.url)
        player = CompanyPlayer(client, SEED)
        await player.begin()
        reads = [*DEFAULT_READS, ("ticketdesk_get_ticket", {"key": player.ticket})]
        sizes = [_tokens((await client.step(tool, arguments))["observation"]) for tool, arguments in reads]
        self._measurements.add("tokens of a default observation, median", median(sizes), "tokens")
        self._measurements.add("tokens of a default observation, largest", max(sizes), "tokens", target="<= 1000")

    async def _memory(self) -> None:
        """Measure memory per open episode with a write, and read latency with many episodes open."""
        if (root := self._enterprise.pid) is None or not (members := process_tree(root)):
            return
        alone = await self._read_p50()
        before = {member: resident_bytes(member) for member in members}
        files_before, opened = folder_bytes(self._data_dir), self._scaled(MANY)
        for n in range(opened):
            player = CompanyPlayer(HttpClient(self._session, self._enterprise.url), SEED + n % TASKS)
            await _timed_reset(player, touch=True)
            await player.step(WRITE)
        for member, role in members.items():
            grown = (resident_bytes(member) - before[member]) / opened / 1024
            self._measurements.add(f"memory per open episode, {role}", grown, "KiB", target="<= 1024 KiB")
        files = (folder_bytes(self._data_dir) - files_before) / opened / 1024
        self._measurements.add("files per open episode, all four processes", files, "KiB")
        target = f"<= {1.3 * alone:.0f} us"
        self._measurements.add("read with 1 episode open, p50", alone, "us")
        self._measurements.add(f"read with {opened} more open, p50", await self._read_p50(), "us", target=target)

    async def _read_p50(self) -> float:
        async with self._company(SEED) as player:
            return p50_us([await player.step(READ) for _ in range(self._scaled(400))])

    def _scaled(self, count: int) -> int:
        return max(3, round(count * self._scale))

    @asynccontextmanager
    async def _company(self, seed: int) -> AsyncIterator[CompanyPlayer]:
        url = f"{self._enterprise.url}/ws"
        async with self._session.ws_connect(url, compress=0, max_msg_size=0) as socket:
            player = CompanyPlayer(WebSocketClient(socket), seed)
            await player.begin()
            yield player

    @asynccontextmanager
    async def _echo(self) -> AsyncIterator[EchoPlayer]:
        async with self._session.ws_connect(self._echo_url, compress=0) as socket:
            yield EchoPlayer(socket)


async def _interleaved(players: dict[str, Player], *, rounds: int) -> dict[tuple[str, str], list[float]]:
    durations: dict[tuple[str, str], list[float]] = {(name, kind): [] for name in players for kind in KINDS}
    for _ in range(rounds):
        for (name, kind), seconds in durations.items():
            seconds.extend([await players[name].step(kind) for _ in range(BURST)])
    return durations


async def _timed_reset(player: CompanyPlayer, *, seed: int | None = None, touch: bool = False) -> float:
    player.seed = player.seed if seed is None else seed
    began = time.perf_counter()
    await player.begin()
    for tool, arguments in TOUCH if touch else ():
        await player.call(tool, arguments)
    return time.perf_counter() - began


async def _timed_reset_after_pause(player: CompanyPlayer, *, seed: int) -> float:
    """Return the duration of a reset after a pause, during which the next task is planned and CPU caches grow cold."""
    await asyncio.sleep(PAUSE_S)
    return await _timed_reset(player, seed=seed, touch=True)


async def _timed_end(player: CompanyPlayer) -> float:
    """Return the duration of `finish` in an episode that read from all services and wrote to one."""
    await _timed_reset(player, touch=True)
    await player.step(WRITE)
    return await player.call("finish", {"outcome": "done", "summary": "Measured."})


async def _rate(players: list[EchoPlayer] | list[CompanyPlayer], seconds: float) -> float:
    """Return the total steps per second of all players."""
    end = time.perf_counter() + seconds

    async def play(player: Player) -> int:
        steps = 0
        for kind in cycle(MIX):
            await player.step(kind)
            steps += 1
            if time.perf_counter() > end:
                break
        return steps

    began = time.perf_counter()
    steps = await asyncio.gather(*(play(player) for player in players))
    return sum(steps) / (time.perf_counter() - began)


def _tokens(value: object) -> float:
    return len(orjson.dumps(value)) / BYTES_PER_TOKEN
