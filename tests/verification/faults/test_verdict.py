"""The verdict on real processes whose databases are modified by the test."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
import pytest_asyncio

from verification.faults.deployment import GATEWAY, Deployment
from verification.faults.findings import Findings
from verification.faults.player import Player
from verification.faults.step_script import Reference, canary_of
from verification.faults.trial import play_reference
from verification.faults.verdict import check_leftovers, database_of, judge

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
SEED = 7


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment_and_reference(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Deployment, Reference]]:
    """Start a deployment and record its reference episode."""
    deployment = Deployment(tmp_path_factory.mktemp("faults") / "deployment", Random())
    await deployment.start()
    try:
        yield deployment, await play_reference(deployment, SEED)
    finally:
        await deployment.stop()


async def opened_player(deployment_and_reference: tuple[Deployment, Reference], name: str) -> tuple[Player, Path]:
    """Return a player six steps into an episode, and its TicketDesk database."""
    deployment, reference = deployment_and_reference
    player = Player(deployment, name, reference, Findings(), SEED)
    await player.open()
    for _ in range(6):
        assert await player.step()
    evidence = await deployment.client.request("GET", f"/v1/episodes/{player.name}/evidence")
    database = database_of(deployment.data_folders, "ticketdesk", episode=evidence.body["folder"], epoch=1)
    assert database is not None
    return player, database


def tamper(database: Path, statement: str, *values: str) -> None:
    """Write to a live database without its triggers, so that no change is recorded."""
    with closing(sqlite3.connect(database)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute(statement, values)
        for _, recorded in triggers:
            db.execute(recorded)
        db.commit()


async def test_an_undisturbed_episode_has_no_findings(deployment_and_reference: tuple[Deployment, Reference]) -> None:
    player, _ = await opened_player(deployment_and_reference, "whole")
    await player.deployment.restart([GATEWAY, "datahub"])
    await judge(player)
    assert player.findings.to_sentences() == []


async def test_missing_writes_are_lost_and_repeated_ones_doubled(
    deployment_and_reference: tuple[Deployment, Reference],
) -> None:
    player, database = await opened_player(deployment_and_reference, "tampered")
    canaries = [str(action.canary) for action in player.actions if action.service == "ticketdesk"]
    tamper(database, "DELETE FROM comments WHERE body = ?", canaries[0])
    tamper(
        database,
        "INSERT INTO comments (id, ticket_key, author_id, created_at, body) "
        "SELECT id || 'x', ticket_key, author_id, created_at, body FROM comments WHERE body = ?",
        canaries[1],
    )
    await judge(player)
    assert any(canaries[0] in sentence for sentence in player.findings.lost)
    assert any(canaries[1] in sentence for sentence in player.findings.doubled)
    assert any("does not match" in sentence for sentence in player.findings.torn)


async def test_the_canary_of_another_episode_is_torn(deployment_and_reference: tuple[Deployment, Reference]) -> None:
    player, database = await opened_player(deployment_and_reference, "other")
    foreign_canary = canary_of("other", 0, 1)
    own_canary = str(next(action.canary for action in player.actions if action.service == "ticketdesk"))
    tamper(database, "UPDATE comments SET body = ? WHERE body = ?", foreign_canary, own_canary)
    await judge(player)
    assert any(foreign_canary in sentence and "unexpected" in sentence for sentence in player.findings.torn)
    assert any(own_canary in sentence for sentence in player.findings.lost)


async def test_a_missing_episode_is_lost(deployment_and_reference: tuple[Deployment, Reference]) -> None:
    player, _ = await opened_player(deployment_and_reference, "gone")
    await player.deployment.client.request("DELETE", f"/v1/episodes/{player.name}")
    await judge(player)
    assert any("unknown-episode" in sentence for sentence in player.findings.lost)


async def test_the_marker_of_a_snapshot_that_failed_may_remain_until_the_next_start(
    deployment_and_reference: tuple[Deployment, Reference],
) -> None:
    player, _ = await opened_player(deployment_and_reference, "unreachable")
    deployment = player.deployment
    await deployment.kill(["ticketdesk"])
    response = await deployment.client.request("POST", f"/v1/episodes/{player.name}/snapshots")
    assert response.status == 503
    player.unacknowledged_snapshots += 1
    await deployment.start_processes(["ticketdesk"])
    await judge(player)
    await check_leftovers(deployment, [player], player.findings)
    assert player.findings.to_sentences() == []


async def test_a_marker_without_a_failed_snapshot_is_torn(
    deployment_and_reference: tuple[Deployment, Reference],
) -> None:
    deployment, _ = deployment_and_reference
    marker = deployment.data / GATEWAY / "snapshots" / f"{'0' * 32}.pending"
    marker.touch()
    findings = Findings()
    await check_leftovers(deployment, [], findings)
    marker.unlink()
    assert str(marker) in "".join(findings.to_sentences())
