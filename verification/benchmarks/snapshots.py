"""Cost of snapshots, restores and forks in the middle of an episode."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import Any

import aiohttp
import orjson

from verification.benchmarks.clients import READ, WRITE, CompanyPlayer, HttpClient
from verification.benchmarks.measurements import Measurements

SEED = 11
STEPS_BEFORE = 20
FORKS = 8
PAUSE_S = 0.1
"""Pause in which the services drop the episodes that the previous round ended."""


class SnapshotBenchmark:
    """Measures an episode with writes in all three services."""

    def __init__(self, session: aiohttp.ClientSession, url: str, measurements: Measurements, scale: float) -> None:
        self._session = session
        self._url = url
        self._measurements = measurements
        self._rounds = max(3, round(100 * scale))

    async def run(self) -> None:
        """Measure each operation in rounds that all start at the same step."""
        player = CompanyPlayer(HttpClient(self._session, self._url), SEED)
        await player.begin()
        for tool in ("datahub_list_sources", "approvalflow_list_approval_types"):
            await player.call(tool, {})
        for n in range(STEPS_BEFORE):
            await player.step(WRITE if n % 4 == 0 else READ)
        durations: dict[str, list[float]] = {
            name: [] for name in ("snapshot", "restore", "fork", f"{FORKS} forks", "touch")
        }
        assert isinstance(player.client, HttpClient)
        episode = f"/v1/episodes/{player.client.episode_id}"
        _, beginning = await self._timed_request("POST", f"{episode}/snapshots")
        for _ in range(self._rounds):
            await self._round(player, episode, durations)
            await self._timed_request("POST", f"{episode}/restore", {"snapshot": beginning["id"]})
        for name in ("snapshot", "restore", "fork", f"{FORKS} forks"):
            target = "" if name.endswith("s") else "<= 4 ms"
            self._measurements.add(
                f"{name} after {STEPS_BEFORE} steps, p50", median(durations[name]) * 1e3, "ms", target=target
            )
        self._measurements.add("restore and first call to one service, p50", median(durations["touch"]) * 1e3, "ms")

    async def _round(self, player: CompanyPlayer, episode: str, durations: dict[str, list[float]]) -> None:
        await asyncio.sleep(PAUSE_S)
        await player.step(WRITE)
        seconds, taken = await self._timed_request("POST", f"{episode}/snapshots")
        durations["snapshot"].append(seconds)
        for name, count in (("fork", 1), (f"{FORKS} forks", FORKS)):
            seconds, forks = await self._timed_request("POST", f"/v1/snapshots/{taken['id']}/fork", {"count": count})
            durations[name].append(seconds)
            for fork in forks:
                await self._timed_request("DELETE", f"/v1/episodes/{fork['episode_id']}")
        seconds, _ = await self._timed_request("POST", f"{episode}/restore", {"snapshot": taken["id"]})
        durations["restore"].append(seconds)
        durations["touch"].append(seconds + await player.step(READ))
        await self._timed_request("DELETE", f"/v1/snapshots/{taken['id']}")

    async def _timed_request(self, method: str, path: str, body: Any = None) -> tuple[float, Any]:
        data = orjson.dumps(body or {})
        began = time.perf_counter()
        headers = {"Content-Type": "application/json"}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as answer:
            content = await answer.read()
            seconds = time.perf_counter() - began
            if answer.status >= 300:
                raise RuntimeError(content.decode())
            return seconds, orjson.loads(content) if content else None
