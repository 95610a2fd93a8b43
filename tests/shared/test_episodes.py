"""Episodes of a service: snapshots, drops, the LRU of connections, and templates that may be missing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic_core import to_json

from companyos_shared.framework.change_capture import revert_changes
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.errors import (
    InvalidSeedError,
    OutdatedEpisodeError,
    SourceMismatchError,
    UnknownSourceError,
)
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.storage import commit
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.context import Actor, CallContext
from companyos_shared.wire.control import Change, LoadReply, source_of


@pytest.fixture
def episodes(library: ServiceHarness, tmp_path: Path) -> Episodes:
    made = Episodes(library.service, tmp_path, max_open=2, max_template_bytes=1)
    made.sources.load(library.source, to_json(library.document))
    return made


def _context(library: ServiceHarness, episode: str, *, epoch: int = 1) -> CallContext:
    return library.context().model_copy(update={"episode": episode, "epoch": epoch})


def _written(episodes: Episodes, context: CallContext) -> Session:
    """Return an epoch with a write, so that it has a file."""
    session = episodes.session(context)
    episodes.begin(session, context)
    commit(session.db)
    return session


def _file(session: Session) -> Path:
    assert session.path is not None
    return session.path


def _template(episodes: Episodes, source: str) -> Path:
    found = episodes.sources.template(source)
    assert found is not None
    return found


async def test_an_episode_that_starts_from_a_snapshot_has_its_state(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    taken = await library.digest()
    source = await library.snapshot()
    await library.post("/books/B-2/lend")
    library.source, library.episode = source, "fork"
    assert await library.digest() == taken
    report = await library.advance(minutes=24 * 60)
    assert [change.key for change in report.changes] == ["B-1"]
    library.step = 1
    assert (await library.post("/books/B-2/lend")).status_code == 200


async def test_a_dropped_episode_leaves_no_file_and_another_one_is_unaffected(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    library.episode, library.step = "other", 0
    await library.post("/books/B-2/lend")
    other = await library.digest()
    library.episode = "test"
    await library.drop()
    folders = [path.name for path in library.folder.glob("*/episodes/*")]
    assert folders == ["other"]
    library.episode = "other"
    assert await library.digest() == other


async def test_a_late_call_does_not_recreate_a_dropped_episode(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    await library.drop()
    await library.drop()  # again, which is not an error
    for late in (await library.get("/books/B-1"), await library.post("/books/B-1/lend", step=1)):
        assert (late.status_code, late.json()["code"]) == (410, "episode-dropped")
    assert not list(library.folder.glob("*/episodes/*"))


async def test_evidence_requires_no_template(library: ServiceHarness) -> None:
    planted = (await library.load()).rows
    await library.post("/books/B-1/lend")
    library.app.state.episodes.sources.template(library.source).unlink()
    evidence = await library.evidence()
    assert evidence.initial == planted
    assert evidence.changes


async def test_a_restored_episode_reports_its_initial_rows_and_every_change_since(
    library: ServiceHarness,
) -> None:
    planted = (await library.load()).rows
    await library.post("/books", json={"title": "New"})
    await library.post("/books/B-1/lend")
    library.source, library.epoch = await library.snapshot(), 2
    await library.post("/books/B-2/lend")
    evidence = await library.evidence()
    assert evidence.initial == planted
    assert [(change.key, change.cause) for change in evidence.changes] == [
        ("B-24", "test:1:1"),
        ("B-1", "test:1:2"),
        ("B-2", "test:2:3"),
    ]


def test_changes_that_do_not_fold_to_the_rows_are_an_error() -> None:
    change = Change(
        seq=1,
        step=1,
        at=datetime(2026, 3, 2, tzinfo=UTC),
        actor=Actor.AGENT,
        cause=None,
        table="books",
        key="B-1",
        before=None,
        after={"id": "B-1"},
    )
    assert revert_changes({"books": {"B-1": {"id": "B-1"}}}, [change]) == {"books": {}}
    with pytest.raises(ValueError, match="does not lead"):
        revert_changes({"books": {"B-1": {"id": "other"}}}, [change])


async def test_two_states_with_the_same_visible_rows_are_different_snapshots(library: ServiceHarness) -> None:
    before = await library.snapshot()
    await library.post("/books/B-9/lend")
    assert (await library.post("/books", json={"title": ""})).status_code == 422
    assert await library.snapshot() != before


def test_open_connections_are_limited_and_closed_ones_reopened(library: ServiceHarness, episodes: Episodes) -> None:
    first = _written(episodes, _context(library, "e1"))
    first.db.exec_driver_sql("UPDATE books SET title = 'changed' WHERE id = 'B-1'")
    for name in ("e2", "e3", "e4"):
        episodes.session(_context(library, name))
    assert episodes.open_count == 2
    again = episodes.session(_context(library, "e1"))
    assert again is not first
    assert again.db.exec_driver_sql("SELECT title FROM books WHERE id = 'B-1'").scalar_one() == "changed"


def test_templates_over_the_limit_are_evicted_and_recreated_from_the_document(
    library: ServiceHarness, episodes: Episodes
) -> None:
    other = {**library.document, "titles": ["Only one"]}
    source = library.service.source_of(to_json(other))
    episodes.sources.load(source, to_json(other))
    assert episodes.sources.template(library.source) is None
    with pytest.raises(UnknownSourceError):
        episodes.session(_context(library, "e1"))
    rows = LoadReply.model_validate_json(episodes.sources.load(library.source, to_json(library.document))).rows
    assert len(rows["books"]) == 23
    episodes.session(_context(library, "e1"))


def test_an_invalid_document_is_rejected_with_its_location_and_leaves_no_files(
    library: ServiceHarness, episodes: Episodes
) -> None:
    wrong = {**library.document, "titles": "many"}
    source = library.service.source_of(to_json(wrong))
    with pytest.raises(InvalidSeedError, match="titles"):
        episodes.sources.load(source, to_json(wrong))
    with pytest.raises(SourceMismatchError):
        episodes.sources.load("0" * 64, to_json(library.document))
    with pytest.raises(SourceMismatchError):
        episodes.sources.load(source_of("another", to_json(library.document)), to_json(library.document))
    for content in (b"", b"{", b"[]", b'{"titles": NaN}', b"\xff"):
        with pytest.raises(InvalidSeedError, match="document must be"):
            episodes.sources.load(library.service.source_of(content), content)
    assert episodes.sources.template(source) is None
    assert not list(_template(episodes, library.source).parent.glob(".*"))


def test_a_later_epoch_removes_the_file_of_the_earlier_one(library: ServiceHarness, episodes: Episodes) -> None:
    path = _file(_written(episodes, _context(library, "e1")))
    later = episodes.session(_context(library, "e1", epoch=4))
    assert not path.exists()
    assert _file(later).exists()


def test_epochs_left_by_a_killed_process_are_removed_with_the_next_one(
    library: ServiceHarness, episodes: Episodes, tmp_path: Path
) -> None:
    path = _file(_written(episodes, _context(library, "e1", epoch=2)))
    path.with_name(path.name.replace("2-", "1-")).write_bytes(path.read_bytes())
    episodes.close()
    again = Episodes(library.service, tmp_path, max_open=2, max_template_bytes=1)
    assert again.session(_context(library, "e1", epoch=2)).path == path
    assert list(path.parent.glob("*.db")) == [path]
    again.close()


def test_incomplete_files_of_a_killed_process_are_removed_at_the_next_start(
    library: ServiceHarness, episodes: Episodes, tmp_path: Path
) -> None:
    path = _file(_written(episodes, _context(library, "e1")))
    (tmp_path / "snapshots").mkdir()
    strays = [
        path.with_name(".2.db.tmp"),
        path.with_name(".2.db.tmp-wal"),
        _template(episodes, library.source).with_name(".x.db.tmp"),
        tmp_path / "snapshots" / ".e1.1.tmp",
    ]
    for stray in strays:
        stray.write_bytes(b"half")
    episodes.close()
    Episodes(library.service, tmp_path, max_open=2, max_template_bytes=1)
    assert not [stray for stray in strays if stray.exists()]
    assert path.exists()


def test_an_episode_of_another_service_version_is_reported(library: ServiceHarness, episodes: Episodes) -> None:
    session = _written(episodes, _context(library, "e1"))
    session.db.exec_driver_sql("UPDATE _meta SET value = 'another' WHERE key = 'schema'")
    episodes.close()
    with pytest.raises(OutdatedEpisodeError):
        episodes.session(_context(library, "e1"))


@pytest.mark.parametrize("damage", [b"", b"no database" * 1000])
async def test_a_damaged_template_is_recreated_when_it_is_loaded(library: ServiceHarness, damage: bytes) -> None:
    sources = library.app.state.episodes.sources
    whole = sources.load(library.source, to_json(library.document))
    _template(library.app.state.episodes, library.source).write_bytes(damage)
    assert sources.load(library.source, to_json(library.document)) == whole
    _template(library.app.state.episodes, library.source).write_bytes(damage)
    with pytest.raises(UnknownSourceError):
        sources.verified_path(library.source)


@pytest.mark.parametrize("damage", [b"", b"no database" * 1000])
async def test_no_epoch_is_created_from_a_template_that_was_damaged_later(
    library: ServiceHarness, damage: bytes
) -> None:
    assert (await library.get("/books/B-1")).status_code == 200
    template = library.app.state.episodes.sources.template(library.source)
    put_there = template.with_name("damaged")
    put_there.write_bytes(damage)
    put_there.replace(template)
    refused = await library.post("/books/B-1/lend")
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown-source")
    assert (await library.get("/books/B-1")).status_code == 200
    await library.load()
    assert (await library.post("/books/B-1/lend")).status_code == 200


async def test_an_epoch_is_not_closed_because_all_others_are_busy(library: ServiceHarness, episodes: Episodes) -> None:
    busy = [episodes.session(_context(library, name)) for name in ("e1", "e2")]
    for session in busy:
        await session.lock.acquire()
    async with asyncio.timeout(5), episodes.locked_session(_context(library, "e3")) as session:
        assert session.episode == "e3"
    for session in busy:
        session.lock.release()
