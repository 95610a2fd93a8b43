"""What is left in a house when everybody has gone: nothing but what was opened by requests whose answers were lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from faults.findings import Findings
from faults.house import PROCESSES, House
from faults.player import FORKS_AT_ONCE, Player

FILES_DEADLINE_S = 3.0
POLL_S = 0.02


async def look_for_leftovers(house: House, players: list[Player], findings: Findings) -> None:
    """Free what nobody was told of, if it is whole, and see that the files of freed episodes are gone."""
    forks = sum(player.unheard_forks for player in players)
    snapshots = sum(player.unheard_snapshots for player in players)
    await _free_forks(house, findings, at_most=forks)
    await _free_snapshots(house, findings, at_most=snapshots)
    for item in await _listed(house, findings, "/v1/quarantine"):
        await house.door.ask("DELETE", f"/v1/quarantine/{item['id']}")
    await _wait_for_files(house, findings)


async def _free_forks(house: House, findings: Findings, *, at_most: int) -> None:
    left = await _listed(house, findings, "/v1/episodes")
    if len(left) > at_most:
        findings.torn.append(f"{len(left)} episodes are left of which {at_most} may be: {left}")
    if len(left) % FORKS_AT_ONCE:
        findings.torn.append(f"forks are opened {FORKS_AT_ONCE} at a time, and {len(left)} are left: {left}")
    for state in left:
        await house.door.ask("DELETE", f"/v1/episodes/{state['episode_id']}")


async def _free_snapshots(house: House, findings: Findings, *, at_most: int) -> None:
    left = await _listed(house, findings, "/v1/snapshots")
    if len(left) > at_most:
        findings.torn.append(f"{len(left)} snapshots are left of which {at_most} may be: {left}")
    for info in left:
        forked = await house.door.ask("POST", f"/v1/snapshots/{info['id']}/fork", {"count": 1})
        if not forked.is_done:
            findings.torn.append(f"a snapshot that nobody was told of cannot be opened: {forked}")
        for opened in forked.body if forked.is_done else ():
            await house.door.ask("DELETE", f"/v1/episodes/{opened['episode_id']}")
        await house.door.ask("DELETE", f"/v1/snapshots/{info['id']}")


async def _listed(house: House, findings: Findings, path: str) -> list[dict[str, Any]]:
    answer = await house.door.ask("GET", path)
    if not answer.is_done:
        findings.unclear.append(f"GET {path} is answered {answer}")
        return []
    return list(answer.body)


async def _wait_for_files(house: House, findings: Findings) -> None:
    clock = asyncio.get_running_loop().time
    give_up_at = clock() + FILES_DEADLINE_S
    while left := _files(house):
        if clock() > give_up_at:
            findings.torn.append(f"files are left of what was freed: {[str(path) for path in left[:4]]}")
            return
        await asyncio.sleep(POLL_S)


def _files(house: House) -> list[Path]:
    return [
        path
        for process in PROCESSES
        for kind in ("episodes", "snapshots")
        for path in (house.data / process / kind).glob("*")
    ]
