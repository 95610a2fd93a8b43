"""Episodes of a service: snapshots, drops, the LRU of connections, templates that may vanish."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from companyos_shared.chassis.episodes import Episodes
from companyos_shared.chassis.errors import InvalidSeed, SourceMismatch, UnknownSource
from companyos_shared.chassis.testing import ServiceHarness
from companyos_shared.wire.context import Actor, CallContext


@pytest.fixture
def episodes(library: ServiceHarness, tmp_path: Path) -> Episodes:
    made = Episodes(library.service, tmp_path, max_open=2, max_template_bytes=1)
    made.load(library.source, library.document)
    return made


def _context(library: ServiceHarness, episode: str, *, epoch: int = 1, source: str | None = None) -> CallContext:
    return CallContext(
        episode=episode,
        epoch=epoch,
        source=source or library.source,
        step=0,
        actor=Actor.AGENT,
        now=library.now,
        fault=None,
    )


async def test_an_episode_that_starts_from_a_snapshot_goes_on_where_it_was_taken(library: ServiceHarness) -> None:
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


async def test_a_dropped_episode_leaves_no_file_and_another_one_goes_on(library: ServiceHarness) -> None:
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


async def test_a_late_call_does_not_bring_a_dropped_episode_back(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    await library.drop()
    late = await library.get("/books/B-1")
    assert (late.status_code, late.json()["code"]) == (410, "episode-dropped")
    assert not list(library.folder.glob("*/episodes/*"))


async def test_evidence_without_its_template_says_so_and_makes_no_empty_file(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    template = library.app.state.episodes.source_path(library.source)
    template.unlink()
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        await library.evidence()
    assert not template.exists()
    await library.load()
    assert (await library.evidence()).changes


async def test_two_states_that_show_the_same_rows_are_different_snapshots(library: ServiceHarness) -> None:
    before = await library.snapshot()
    await library.post("/books/B-9/lend")
    assert (await library.post("/books", json={"title": ""})).status_code == 422
    assert await library.snapshot() != before


async def test_dropping_twice_is_no_error(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    await library.drop()
    await library.drop()


def test_only_so_many_connections_stay_open_and_the_closed_come_back(
    library: ServiceHarness, episodes: Episodes
) -> None:
    first = episodes.session(_context(library, "e1"))
    first.db.exec_driver_sql("UPDATE books SET title = 'changed' WHERE id = 'B-1'")
    for name in ("e2", "e3", "e4"):
        episodes.session(_context(library, name))
    assert episodes.open_count == 2
    again = episodes.session(_context(library, "e1"))
    assert again is not first
    assert again.db.exec_driver_sql("SELECT title FROM books WHERE id = 'B-1'").scalar_one() == "changed"


def test_templates_over_the_limit_vanish_and_are_made_again_from_the_document(
    library: ServiceHarness, episodes: Episodes
) -> None:
    other = {**library.document, "titles": ["Only one"]}
    source = library.service.source_of(other)
    episodes.load(source, other)
    assert not episodes.source_path(library.source).exists()
    with pytest.raises(UnknownSource):
        episodes.session(_context(library, "e1"))
    rows = episodes.load(library.source, library.document).rows
    assert len(rows["books"]) == 23
    episodes.session(_context(library, "e1"))


def test_a_document_that_is_no_seed_is_refused_with_the_place_and_leaves_nothing(
    library: ServiceHarness, episodes: Episodes
) -> None:
    wrong = {**library.document, "titles": "many"}
    source = library.service.source_of(wrong)
    with pytest.raises(InvalidSeed, match="titles"):
        episodes.load(source, wrong)
    with pytest.raises(SourceMismatch):
        episodes.load("0" * 64, library.document)
    assert not episodes.source_path(source).exists()
    assert not list(episodes.source_path(source).parent.glob(".*"))


def test_a_later_epoch_removes_the_file_of_the_earlier_one(library: ServiceHarness, episodes: Episodes) -> None:
    path = episodes.session(_context(library, "e1")).path
    later = episodes.session(_context(library, "e1", epoch=4))
    assert not path.exists()
    assert later.path.exists()
