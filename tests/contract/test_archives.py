"""Contract of archives: an episode has their rows, and its evidence has those of them that changed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework.change_capture import content_digest
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.control import EvidenceReply, Rows
from tests.contract.calls import ids_of, wander

CALLS = 120
EMPTY = ("company", "draw_seed", "started_at")


@pytest.fixture
async def archived(harness: ServiceHarness) -> AsyncIterator[ServiceHarness]:
    """Provide an episode without rows of its own; its archive has all rows of the demo seed."""
    archive = {**harness.document, "is_archive": True}
    source = harness.service.source_of(archive)
    reply = await harness.control("load", {"source": source, "document": archive})
    assert not any(reply.json()["rows"].values())
    document = {name: harness.document[name] for name in EMPTY} | {"archive": source}
    seed = harness.service.seed.model_validate(document)
    async with ServiceHarness(harness.service, seed, episode="archived", folder=harness.folder) as made:
        yield made


async def _rows(harness: ServiceHarness) -> Rows:
    return (await harness.evidence()).initial


def _fold(evidence: EvidenceReply) -> Rows:
    rows = {table: dict(of_table) for table, of_table in evidence.initial.items()}
    for change in evidence.changes:
        if change.after is None:
            del rows[change.table][change.key]
        else:
            rows[change.table][change.key] = change.after
    return rows


async def test_an_episode_needs_its_archive(harness: ServiceHarness) -> None:
    document = {name: harness.document[name] for name in EMPTY} | {"archive": "0" * 64}
    answer = await harness.control("load", {"source": harness.service.source_of(document), "document": document})
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-archive")


async def test_an_id_of_the_archive_cannot_be_used_again(harness: ServiceHarness) -> None:
    archive = {**harness.document, "is_archive": True}
    source = harness.service.source_of(archive)
    await harness.control("load", {"source": source, "document": archive})
    document = {**harness.document, "archive": source}
    answer = await harness.control("load", {"source": harness.service.source_of(document), "document": document})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-seed")


async def test_evidence_has_the_archived_rows_that_changed(
    harness: ServiceHarness, archived: ServiceHarness, tools: list[Tool]
) -> None:
    every_row = await _rows(harness)
    await wander(archived, tools, CALLS, "archive", ids_of(every_row))
    evidence = await archived.evidence()
    changed = {(change.table, change.key) for change in evidence.changes if change.before is not None}
    assert changed & {(table, key) for table, rows in every_row.items() for key in rows}
    for table, rows in evidence.initial.items():
        for key, row in rows.items():
            assert (table, key) in changed
            assert row == every_row[table][key]
    assert content_digest(_fold(evidence)) == (await archived.digest()).digest


async def test_an_episode_with_an_archive_acts_like_one_with_these_rows_of_its_own(
    harness: ServiceHarness, archived: ServiceHarness, tools: list[Tool]
) -> None:
    ids = ids_of(await _rows(harness))
    assert await wander(archived, tools, CALLS, "same", ids) == await wander(harness, tools, CALLS, "same", ids)
    changes = [
        [change.model_dump(exclude={"cause"}) for change in (await one.evidence()).changes]
        for one in (archived, harness)
    ]
    assert changes[0] == changes[1]


async def test_a_snapshot_and_a_restart_keep_the_archive(
    harness: ServiceHarness, archived: ServiceHarness, tools: list[Tool]
) -> None:
    ids = ids_of(await _rows(harness))
    await wander(archived, tools, CALLS, "before", ids)
    source, step, now = await archived.snapshot(), archived.step, archived.now
    archived.restart()
    await wander(archived, tools, CALLS, "after", ids)
    stayed = await archived.digest()
    archived.source, archived.epoch, archived.step, archived.now = source, 2, step, now
    await wander(archived, tools, CALLS, "after", ids)
    assert await archived.digest() == stayed
