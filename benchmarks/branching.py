"""What it costs to snapshot, restore and fork an episode in the middle."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import aiohttp
import orjson

from benchmarks.figures import Figures
from benchmarks.players import READ, WRITE, CompanyPlayer, HttpDoor

SEED = 11
STEPS_BEFORE = 20
FORKS = 8


class Branching:
    """Measures on an episode that has touched all three services and written."""

    def __init__(self, session: aiohttp.ClientSession, url: str, figures: Figures, scale: float) -> None:
        self._session = session
        self._url = url
        self._figures = figures
        self._rounds = max(3, round(100 * scale))

    async def run(self) -> None:
        """Measure each with an untimed step between any two."""
        player = CompanyPlayer(HttpDoor(self._session, self._url), SEED)
        await player.begin()
        for tool in ("datahub_list_sources", "approvalflow_list_approval_types"):
            await player.call(tool, {})
        for n in range(STEPS_BEFORE):
            await player.step(WRITE if n % 4 == 0 else READ)
        took: dict[str, list[float]] = {name: [] for name in ("snapshot", "restore", "fork", f"{FORKS} forks", "touch")}
        for _ in range(self._rounds):
            await self._round(player, took)
        for name in ("snapshot", "restore", "fork", f"{FORKS} forks"):
            target = "" if name.endswith("s") else "<= 5 ms"
            self._figures.add(f"{name} after {STEPS_BEFORE} steps, p50", median(took[name]) * 1e3, "ms", target=target)
        self._figures.add("restore and first touch of one service, p50", median(took["touch"]) * 1e3, "ms")

    async def _round(self, player: CompanyPlayer, took: dict[str, list[float]]) -> None:
        door = player.door
        assert isinstance(door, HttpDoor)
        episode = f"/v1/episodes/{door.episode_id}"
        seconds, taken = await self._timed("POST", f"{episode}/snapshots")
        took["snapshot"].append(seconds)
        for name, count in (("fork", 1), (f"{FORKS} forks", FORKS)):
            seconds, forks = await self._timed("POST", f"/v1/snapshots/{taken['id']}/fork", {"count": count})
            took[name].append(seconds)
            for fork in forks:
                await self._timed("DELETE", f"/v1/episodes/{fork['episode_id']}")
        seconds, _ = await self._timed("POST", f"{episode}/restore", {"snapshot": taken["id"]})
        took["restore"].append(seconds)
        took["touch"].append(seconds + await player.step(READ))
        await self._timed("DELETE", f"/v1/snapshots/{taken['id']}")

    async def _timed(self, method: str, path: str, body: Any = None) -> tuple[float, Any]:
        data = orjson.dumps(body or {})
        began = time.perf_counter()
        headers = {"Content-Type": "application/json"}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as answer:
            content = await answer.read()
            took = time.perf_counter() - began
            if answer.status >= 300:
                raise RuntimeError(content.decode())
            return took, orjson.loads(content) if content else None
