"""The verdict on an episode from databases and gateway: consistent, complete and without duplicates."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from companyos_gateway.engine.episode_removal import RETRY_INTERVAL_S
from companyos_gateway.engine.snapshot_files import PENDING_SUFFIX
from companyos_shared.framework.database import epoch_files
from verification.faults.deployment import GATEWAY, PROCESSES, SERVICES, Deployment
from verification.faults.findings import Findings
from verification.faults.gateway_client import Response
from verification.faults.player import FORKS_AT_ONCE, INFRA_ERROR, Player
from verification.faults.step_script import CANARY


async def judge(player: Player) -> None:
    """Check an episode, take one more step, finish it and free it; violations are added to the player's findings.

    The files are read last, because the first call to a fork's or restore's epoch opens it.
    """
    if not player.is_open:
        return
    state = await _read(player, f"/v1/episodes/{player.name}")
    if state is not None:
        _count_steps(player, state)
        if not player.ended:
            await _continue_episode(player)
        evidence = await _read(player, f"/v1/episodes/{player.name}/evidence")
        if evidence is not None:
            for service in SERVICES:
                _compare(player, service, evidence=evidence, epoch=state["epoch"])
    await player.close()


async def _read(player: Player, path: str) -> dict[str, Any] | None:
    response = await player.deployment.client.request("GET", path)
    if response.is_done:
        return dict(response.body)
    player.findings.lost.append(f"{player.name}: GET {path} returned {response}")
    return None


def _count_steps(player: Player, state: dict[str, Any]) -> None:
    counted, known = state["step_count"], player.step_count
    if player.ended:
        if state["outcome"] != "infra_error":
            player.findings.torn.append(f"{player.name}: ended as infra_error, but the state says {state['outcome']}")
    elif counted < known:
        player.findings.lost.append(f"{player.name}: {known} steps were acknowledged, {counted} are counted")
    elif counted > known + (player.pending is not None):
        player.findings.doubled.append(f"{player.name}: {known} steps were acknowledged, {counted} are counted")


def _compare(player: Player, service: str, *, evidence: dict[str, Any], epoch: int) -> None:
    """Compare the player's record with a service's rows, and the rows with the gateway's evidence."""
    data, folder = player.deployment.data_folders, evidence["folder"]
    found = count_canaries(data, service, episode=folder, epoch=epoch)
    if found is None:
        if player.ended or not any(action.service == service for action in player.actions):
            return
        found = Counter()
    expected = Counter(str(action.canary) for action in player.actions if action.service == service)
    pending = player.pending
    if pending is not None and pending.service == service and found[str(pending.canary)]:
        expected[str(pending.canary)] = 1
    findings, where = player.findings, f"{player.name}, {service}"
    for canary in sorted(expected - found):
        findings.lost.append(f"{where}: {canary} is missing")
    for canary in sorted(found - expected):
        if canary in expected:
            findings.doubled.append(f"{where}: {canary} occurs {found[canary]} times")
        else:
            findings.torn.append(f"{where}: unexpected {canary}")
    for step in audited_twice(data, service, episode=folder, epoch=epoch):
        findings.doubled.append(f"{where}: step {step} was audited twice")
    reported = Counter(CANARY.findall(repr([change["after"] for change in evidence["changes"].get(service, ())])))
    if set(reported) != set(found) and not player.ended:
        findings.torn.append(f"{where}: rows and evidence differ in {sorted(set(reported) ^ set(found))}")


async def _continue_episode(player: Player) -> None:
    """Take steps until every service was written to, and finish; the gateway then compares its evidence with all
    digests.

    This opens the epoch of a restore or fork in every service.
    """
    reached: set[str | None] = set()
    while not reached.issuperset(SERVICES):
        if not await player.step():
            break
        reached.add(player.actions[-1].service)
    if player.ended:
        player.findings.torn.append(f"{player.name}: a later step ended as infra_error")
        return
    finish = {"tool_name": "finish", "arguments": {"outcome": "done", "summary": "Looked after."}}
    body = {"episode_id": player.name, "action": finish, "step": player.step_count + 1}
    response: Response = await player.deployment.client.request("POST", "/step", body)
    if not response.is_done:
        player.findings.lost.append(f"{player.name}: finish returned {response}")
    elif INFRA_ERROR in str(response.body["observation"].get("error")):
        player.findings.torn.append(f"{player.name}: the evidence does not match the services' data")


FILES_DEADLINE_S = RETRY_INTERVAL_S + 3.0
"""Longer than the pause after which a failed drop of an ended episode is repeated."""

POLL_S = 0.02


async def check_leftovers(deployment: Deployment, players: list[Player], findings: Findings) -> None:
    """Free intact episodes and snapshots that no player knows, and check that files of freed episodes are gone."""
    forks = sum(player.unacknowledged_forks for player in players)
    snapshots = sum(player.unacknowledged_snapshots for player in players)
    await _free_forks(deployment, findings, at_most=forks)
    await _free_snapshots(deployment, findings, at_most=snapshots)
    for item in await _listed(deployment, findings, "/v1/quarantine"):
        await deployment.client.request("DELETE", f"/v1/quarantine/{item['id']}")
    await _check_files(deployment, findings, max_markers=snapshots)


async def _free_forks(deployment: Deployment, findings: Findings, *, at_most: int) -> None:
    left = await _listed(deployment, findings, "/v1/episodes")
    if len(left) > at_most:
        findings.torn.append(f"{len(left)} episodes remain, at most {at_most} expected: {left}")
    if len(left) % FORKS_AT_ONCE:
        findings.torn.append(f"{len(left)} forks remain, not a multiple of {FORKS_AT_ONCE}: {left}")
    for state in left:
        await deployment.client.request("DELETE", f"/v1/episodes/{state['episode_id']}")


async def _free_snapshots(deployment: Deployment, findings: Findings, *, at_most: int) -> None:
    left = await _listed(deployment, findings, "/v1/snapshots")
    if len(left) > at_most:
        findings.torn.append(f"{len(left)} snapshots remain, at most {at_most} expected: {left}")
    for info in left:
        forked = await deployment.client.request("POST", f"/v1/snapshots/{info['id']}/fork", {"count": 1})
        if not forked.is_done:
            findings.torn.append(f"an unreported snapshot cannot be forked: {forked}")
        for opened in forked.body if forked.is_done else ():
            await deployment.client.request("DELETE", f"/v1/episodes/{opened['episode_id']}")
        await deployment.client.request("DELETE", f"/v1/snapshots/{info['id']}")


async def _listed(deployment: Deployment, findings: Findings, path: str) -> list[dict[str, Any]]:
    response = await deployment.client.request("GET", path)
    if not response.is_done:
        findings.unclear.append(f"GET {path} returned {response}")
        return []
    return list(response.body)


async def _check_files(deployment: Deployment, findings: Findings, *, max_markers: int) -> None:
    """Check that the files are deleted.

    If a service is unreachable for longer than the gateway tries, the marker of the failed snapshot remains until the
    next start of the gateway.
    """
    left = await _remaining_files(deployment)
    if 0 < len(left) <= max_markers and all(path.suffix == PENDING_SUFFIX for path in left):
        await deployment.restart([GATEWAY])
        left = await _remaining_files(deployment)
    if left:
        findings.torn.append(f"files of freed episodes remain: {[str(path) for path in left[:4]]}")


async def _remaining_files(deployment: Deployment) -> list[Path]:
    """Wait until all files are deleted, at most `FILES_DEADLINE_S`, and return those that remain."""
    clock = asyncio.get_running_loop().time
    give_up_at = clock() + FILES_DEADLINE_S
    while left := _files(deployment):
        if clock() > give_up_at:
            break
        await asyncio.sleep(POLL_S)
    return left


def _files(deployment: Deployment) -> list[Path]:
    return [
        path
        for data in deployment.data_folders
        for process in PROCESSES
        for kind in ("episodes", "snapshots")
        for path in (data / process / kind).glob("*")
    ]


_TABLES = {
    "ticketdesk": ("comments", "body"),
    "datahub": ("data_issues", "description"),
    "approvalflow": ("notes", "body"),
}


def database_of(data_folders: Sequence[Path], service: str, *, episode: str, epoch: int) -> Path | None:
    """Return a service's database of an epoch in one of the data folders; None if it was not opened."""
    found = (epoch_files(data / service / "episodes" / episode).get(epoch) for data in data_folders)
    return next((path for path in found if path is not None), None)


def count_canaries(data_folders: Sequence[Path], service: str, *, episode: str, epoch: int) -> Counter[str] | None:
    """Return the count of each canary in a service's rows of an epoch; None if it was not opened."""
    path = database_of(data_folders, service, episode=episode, epoch=epoch)
    if path is None:
        return None
    table, column = _TABLES[service]
    return Counter(text for text in _column(path, table, column) if CANARY.fullmatch(text))


def audited_twice(data_folders: Sequence[Path], service: str, *, episode: str, epoch: int) -> list[int]:
    """Return the steps that occur more than once in the audit of an epoch."""
    path = database_of(data_folders, service, episode=episode, epoch=epoch)
    if path is None:
        return []
    steps = Counter(int(step) for step in _column(path, "_audit", "step"))
    return sorted(step for step, times in steps.items() if times > 1)


def _column(path: Path, table: str, column: str) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5.0)) as db:
        return [str(row[0]) for row in db.execute(f"SELECT {column} FROM {table}")]  # noqa: S608  # names of our own
