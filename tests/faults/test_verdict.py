"""The verdict sees what is wrong: a real house whose databases are tampered with."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
import pytest_asyncio

from faults.databases import database_of
from faults.findings import Findings
from faults.house import GATEWAY, House
from faults.player import Player
from faults.reference import play_reference
from faults.script import Reference, canary_of
from faults.verdict import judge

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
SEED = 7


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def furnished(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[House, Reference]]:
    """A house with what its undisturbed episodes are told."""
    house = House(tmp_path_factory.mktemp("faults") / "house", Random())
    await house.start()
    try:
        yield house, await play_reference(house, SEED)
    finally:
        await house.stop()


async def seated(furnished: tuple[House, Reference], name: str) -> tuple[Player, Path]:
    """Return a player six steps into an episode, and where TicketDesk keeps it."""
    house, reference = furnished
    player = Player(house, name, reference, Findings(), SEED)
    await player.open()
    for _ in range(6):
        assert await player.step()
    evidence = await house.door.ask("GET", f"/v1/episodes/{player.name}/evidence")
    database = database_of(house.data, "ticketdesk", episode=evidence.body["folder"], epoch=1)
    assert database is not None
    return player, database


def tamper(database: Path, statement: str, *values: str) -> None:
    """Write to a live database behind its triggers, so that no change is recorded."""
    with closing(sqlite3.connect(database)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute(statement, values)
        for _, recorded in triggers:
            db.execute(recorded)
        db.commit()


async def test_an_undisturbed_episode_is_whole(furnished: tuple[House, Reference]) -> None:
    player, _ = await seated(furnished, "whole")
    await player.house.restart([GATEWAY, "datahub"])
    await judge(player)
    assert player.findings.sentences() == []


async def test_what_is_gone_is_lost_and_what_is_there_twice_is_doubled(furnished: tuple[House, Reference]) -> None:
    player, database = await seated(furnished, "tampered")
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
    assert any("does not fold" in sentence for sentence in player.findings.torn)


async def test_somebody_else_s_canary_is_torn(furnished: tuple[House, Reference]) -> None:
    player, database = await seated(furnished, "stranger")
    stranger = canary_of("stranger", 0, 1)
    mine = str(next(action.canary for action in player.actions if action.service == "ticketdesk"))
    tamper(database, "UPDATE comments SET body = ? WHERE body = ?", stranger, mine)
    await judge(player)
    assert any(stranger in sentence and "should not be there" in sentence for sentence in player.findings.torn)
    assert any(mine in sentence for sentence in player.findings.lost)


async def test_an_episode_that_is_gone_is_lost(furnished: tuple[House, Reference]) -> None:
    player, _ = await seated(furnished, "gone")
    await player.house.door.ask("DELETE", f"/v1/episodes/{player.name}")
    await judge(player)
    assert any("unknown-episode" in sentence for sentence in player.findings.lost)
