"""Epochs that only read share an open template, and get their own file with their first write."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from companyos_shared.framework.database import Database
from companyos_shared.framework.episode_constants import EpisodeConstantsCache
from companyos_shared.framework.errors import UnknownSourceError
from companyos_shared.framework.storage import begin, rollback, sqlite_connection
from companyos_shared.framework.template_pool import TemplatePool
from companyos_shared.framework.testing import ServiceHarness
from tests.shared.conftest import metadata

LEND = "/books/B-1/lend"


def _files(library: ServiceHarness) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in library.folder.glob("*/episodes/*/*.db"))


async def test_an_epoch_has_no_file_until_the_first_write(library: ServiceHarness) -> None:
    fresh = await library.digest()
    assert (await library.get("/books")).status_code == 200
    assert await library.advance(minutes=60) == library.last_report
    assert _files(library) == []
    assert (await library.post(LEND)).status_code == 200
    assert _files(library) == ["1"]
    library.episode, library.step = "second", 0
    assert await library.digest() == fresh
    assert (await library.get("/books/B-1")).json()["lent"] is False


async def test_a_rejected_write_creates_a_file_too(library: ServiceHarness) -> None:
    assert (await library.post("/books/B-99/lend")).status_code == 404
    assert _files(library) == ["1"]
    library.restart()
    again = await library.post("/books/B-99/lend", step=1)
    assert (again.status_code, library.last_report.replayed) == (404, True)


async def test_the_shared_template_cannot_be_written(library: ServiceHarness) -> None:
    session = library.session()
    begin(session.db)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        sqlite_connection(session.db).execute("UPDATE books SET title = 'torn'")
    rollback(session.db)


async def test_an_epoch_whose_template_is_missing_can_be_read_and_written_after_reloading(
    library: ServiceHarness,
) -> None:
    before = await library.digest()
    library.app.state.episodes.sources.discard_template(library.source)
    assert await library.digest() == before
    lost = await library.post(LEND, step=1)
    assert (lost.status_code, lost.json()["code"]) == (404, "unknown-source")
    await library.load()
    assert await library.digest() == before
    assert (await library.post(LEND, step=1)).status_code == 200


async def test_an_epoch_of_a_snapshot_does_not_depend_on_it_later(library: ServiceHarness) -> None:
    await library.post(LEND)
    source, before = await library.snapshot(), await library.digest()
    library.source, library.episode = source, "fork"
    assert (await library.get("/books/B-1")).json()["lent"] is True
    (library.folder / "library" / "snapshots" / f"{source}.db").write_bytes(b"torn")
    assert await library.digest() == before
    library.restart()
    assert await library.digest() == before


async def test_a_fence_with_a_file_survives_a_restart(library: ServiceHarness) -> None:
    await library.post(LEND)
    library.epoch, library.step = 2, 0
    assert (await library.get("/books/B-1")).json()["lent"] is False
    assert _files(library) == ["2"]
    library.restart()
    library.epoch = 1
    late = await library.post("/books/B-2/lend")
    assert (late.status_code, late.json()["code"]) == (409, "stale-epoch")


async def test_an_earlier_epoch_is_fenced_off_without_any_write(library: ServiceHarness) -> None:
    await library.get("/books/B-1")
    library.epoch = 2
    await library.get("/books/B-1")
    library.epoch = 1
    late = await library.get("/books/B-1")
    assert (late.status_code, late.json()["code"]) == (409, "stale-epoch")


async def test_a_snapshot_and_an_export_require_no_previous_write(library: ServiceHarness, tmp_path: Path) -> None:
    before = await library.digest()
    source = await library.snapshot()
    (tmp_path / "exported.db").write_bytes(await library.export())
    with closing(sqlite3.connect(tmp_path / "exported.db")) as exported:
        assert exported.execute("SELECT count(*) FROM books").fetchone() == (23,)
    assert _files(library) == []
    library.source, library.episode = source, "fork"
    assert await library.digest() == before


def _is_open(db: object) -> bool:
    return not getattr(db, "closed", True)


async def test_unused_readers_are_closed_oldest_first(library: ServiceHarness, tmp_path: Path) -> None:
    template = library.app.state.episodes.sources.template(library.source)
    readers = TemplatePool(Database(metadata), EpisodeConstantsCache())
    borrowed = []
    for number in range(70):
        path = tmp_path / f"{number}.db"
        shutil.copy(template, path)
        borrowed.append(readers.acquire(str(number), path))
    assert readers.acquire("0", tmp_path / "0.db") is borrowed[0]
    readers.release(borrowed[0])
    for reader in borrowed[1:]:
        readers.release(reader)
    left = [reader.source for reader in borrowed if _is_open(reader.db)]
    assert left == ["0", *(str(number) for number in range(7, 70))]
    readers.forget("0")
    assert _is_open(borrowed[0].db)
    readers.release(borrowed[0])
    readers.close()
    assert not any(_is_open(reader.db) for reader in borrowed)


async def test_a_damaged_template_is_never_read(library: ServiceHarness) -> None:
    template = library.app.state.episodes.sources.template(library.source)
    template.write_bytes(template.read_bytes()[:700])
    with pytest.raises(UnknownSourceError):
        library.session()
    assert not template.exists()
