"""The verdict sees what is wrong: real houses whose databases are tampered with, and a run from end to end."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random

import pytest

from faults.findings import Findings
from faults.house import GATEWAY, House
from faults.player import Player
from faults.reference import play_reference
from faults.script import canary_of
from faults.verdict import judge
from tests.architecture.sources import ROOT

pytestmark = pytest.mark.integration
SEED = 7


@asynccontextmanager
async def seated(folder: Path) -> AsyncIterator[tuple[Player, Path]]:
    """Give a player six steps into an episode, and where TicketDesk keeps it."""
    house = House(folder / "house", Random())
    await house.start()
    try:
        player = Player(house, "looked0at", await play_reference(house, SEED), Findings(), SEED)
        await player.open()
        for _ in range(6):
            assert await player.step()
        evidence = await house.door.ask("GET", f"/v1/episodes/{player.name}/evidence")
        yield player, house.data / "ticketdesk" / "episodes" / evidence.body["folder"] / "1.db"
    finally:
        await house.stop()


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


async def test_an_undisturbed_episode_is_whole(tmp_path: Path) -> None:
    async with seated(tmp_path) as (player, _):
        await player.house.restart([GATEWAY, "datahub"])
        await judge(player)
    assert player.findings.sentences() == []


async def test_what_is_gone_is_lost_and_what_is_there_twice_is_doubled(tmp_path: Path) -> None:
    async with seated(tmp_path) as (player, database):
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


async def test_somebody_else_s_canary_is_torn(tmp_path: Path) -> None:
    async with seated(tmp_path) as (player, database):
        stranger = canary_of("stranger", 0, 1)
        mine = str(next(action.canary for action in player.actions if action.service == "ticketdesk"))
        tamper(database, "UPDATE comments SET body = ? WHERE body = ?", stranger, mine)
        await judge(player)
    assert any(stranger in sentence and "should not be there" in sentence for sentence in player.findings.torn)
    assert any(mine in sentence for sentence in player.findings.lost)


async def test_an_episode_that_is_gone_is_lost(tmp_path: Path) -> None:
    async with seated(tmp_path) as (player, _):
        await player.house.door.ask("DELETE", f"/v1/episodes/{player.name}")
        await judge(player)
    assert any("unknown-episode" in sentence for sentence in player.findings.lost)


@pytest.mark.timeout(180)
def test_a_run_prints_its_table_and_keeps_what_it_knows(tmp_path: Path) -> None:
    kept, table = tmp_path / "run.json", tmp_path / "table.md"
    command = [sys.executable, "-m", "faults", "--cells", "client asks twice at once", "--trials", "1"]
    answer = subprocess.run(
        [*command, "--json", str(kept), "--markdown", str(table)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "client asks twice at once" in answer.stdout
    (cell,) = json.loads(kept.read_text())["cells"]
    assert (cell["trials"], cell["torn"], cell["lost"], cell["doubled"], cell["unclear"]) == (1, 0, 0, 0, 0)
    assert "| client asks twice at once | 1 | 0 | 0 | 0 | 0 |" in table.read_text()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_promise_that_is_broken_on_purpose_shows() -> None:
    command = [sys.executable, "-m", "faults", "--prove"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
