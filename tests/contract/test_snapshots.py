"""Contract of snapshots: an episode continues identically, and damaged snapshots are rejected."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import JSON, Boolean, Column, Table

from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework import Service
from companyos_shared.framework.errors import CorruptSourceError
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import digest
from companyos_shared.wire.control import DATABASE_MEDIA_TYPE, EvidenceReply
from tests.contract.calls import random_calls

CALLS = 60


def _snapshots(harness: ServiceHarness) -> Path:
    return harness.folder / harness.service.name / "snapshots"


def _code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def _continue_episode(harness: ServiceHarness, tools: list[Tool], name: str) -> EvidenceReply:
    """Make random calls from the current state under a fixed name, so that two epochs can be compared."""
    await random_calls(harness, tools, CALLS, name)
    return await harness.evidence()


def _without_epochs(evidence: EvidenceReply, episodes: set[str]) -> str:
    text = evidence.model_dump_json()
    for episode in episodes:
        text = text.replace(episode, "episode:n")
    return text


@pytest.mark.sample(1)
async def test_an_episode_continues_identically_from_a_snapshot(harness: ServiceHarness, tools: list[Tool]) -> None:
    planted = (await harness.load()).rows
    await random_calls(harness, tools, CALLS, "before")
    source, step, now = await harness.snapshot(), harness.step, harness.now
    stayed = await _continue_episode(harness, tools, "after")
    harness.source, harness.epoch, harness.step, harness.now = source, 2, step, now
    restored = await _continue_episode(harness, tools, "after")
    assert restored.initial == stayed.initial == planted
    assert len(stayed.changes) > 0
    assert _without_epochs(restored, {"test:1", "test:2"}) == _without_epochs(stayed, {"test:1", "test:2"})


async def test_a_restart_changes_neither_an_episode_nor_its_snapshots(
    harness: ServiceHarness, tools: list[Tool]
) -> None:
    await random_calls(harness, tools, CALLS, "restart")
    before, source = await harness.evidence(), await harness.snapshot()
    harness.restart()
    assert await harness.evidence() == before
    await harness.check(source)
    assert await harness.snapshot() == source


@pytest.mark.sample(4)
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "words"])
async def test_a_damaged_snapshot_cannot_be_used(harness: ServiceHarness, tools: list[Tool], damage: str) -> None:
    await random_calls(harness, tools, CALLS, "damage")
    before, source = await harness.digest(), await harness.snapshot()
    file = _snapshots(harness) / f"{source}.db"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes({"flipped": bytes(data), "cut": bytes(data[:5000]), "empty": b"", "words": b"words"}[damage])
    assert _code(await harness.control("check", {"source": source})) == (410, "source-corrupt")
    with pytest.raises(CorruptSourceError):
        harness.app.state.episodes.sources.load(source, b"")
    live, harness.source, harness.episode = harness.source, source, "fork"
    assert _code(await harness.control("digest", {})) == (410, "source-corrupt")
    harness.source, harness.episode = live, "test"
    assert await harness.digest() == before
    assert not list(harness.folder.glob("*/episodes/fork"))
    assert not list(harness.folder.rglob("*.tmp*"))


async def test_the_snapshot_of_another_service_is_rejected_as_another_version(
    harness: ServiceHarness, service: Service[Any]
) -> None:
    from tests.contract.conftest import SERVICES

    foreign = next(other for name, other in sorted(SERVICES.items()) if name != service.name)
    await harness.snapshot()
    async with ServiceHarness(foreign) as other:
        source = await other.snapshot()
        (_snapshots(harness) / f"{source}.db").write_bytes((_snapshots(other) / f"{source}.db").read_bytes())
    assert _code(await harness.control("check", {"source": source})) == (410, "source-outdated")


async def test_every_error_of_a_source_has_its_status_and_code(harness: ServiceHarness) -> None:
    unknown = "0" * 64
    assert _code(await harness.control("check", {"source": unknown})) == (404, "unknown-source")
    assert _code(await harness.control("check", {"source": "../../etc"})) == (422, "invalid-arguments")
    await harness.forget(unknown)
    await harness.snapshot()
    for content in (b"words", b""):
        source = hashlib.sha256(content).hexdigest()
        (_snapshots(harness) / f"{source}.db").write_bytes(content)
        assert _code(await harness.control("check", {"source": source})) == (410, "source-corrupt")
        await harness.forget(source)
        assert _code(await harness.control("check", {"source": source})) == (404, "unknown-source")


@pytest.mark.sample(1)
async def test_an_export_contains_the_rows_of_the_episode(
    harness: ServiceHarness, tools: list[Tool], tmp_path: Path
) -> None:
    await random_calls(harness, tools, CALLS, "export")
    file = tmp_path / "exported.db"
    answer = await harness.control("export", {})
    assert answer.headers["content-type"] == DATABASE_MEDIA_TYPE
    assert not list(harness.folder.rglob("*.tmp*"))
    file.write_bytes(answer.content)
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("PRAGMA trusted_schema = off")
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = {table.name: _rows(raw, table) for table in harness.service.metadata.sorted_tables}
    assert digest(rows) == (await harness.digest()).digest


def _rows(raw: sqlite3.Connection, table: Table) -> dict[str, dict[str, Any]]:
    """Return all rows by key, with all columns that the file has."""
    cursor = raw.execute(f'SELECT * FROM "{table.name}"')  # noqa: S608
    names = [column[0] for column in cursor.description]
    (key,) = table.primary_key.columns.keys()
    rows = [{name: _value(table.columns[name], one) for name, one in zip(names, row, strict=True)} for row in cursor]
    return {str(row[key]): row for row in rows}


def _value(column: Column[Any], stored: Any) -> Any:
    if stored is None:
        return None
    if isinstance(column.type, JSON):
        return json.loads(stored)
    return bool(stored) if isinstance(column.type, Boolean) else stored
