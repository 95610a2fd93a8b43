"""Two processes on one folder: an old one that resumes late, and a new one that has continued in the meantime."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from companyos_shared import failpoints
from companyos_shared.framework import database
from companyos_shared.framework.middleware import ServiceMiddleware
from companyos_shared.framework.storage import commit
from companyos_shared.framework.testing import ServiceHarness

OWNER = "owner-one"


@asynccontextmanager
async def two_processes(library: ServiceHarness) -> AsyncIterator[tuple[ServiceHarness, ServiceHarness]]:
    """Yield an old process whose gateway has generation 1, and a new one whose gateway has taken generation 2."""
    await library.control("lease", {"owner": OWNER})
    library.generation = 1
    new = ServiceHarness(library.service, library.seed, folder=library.folder)
    new.generation = 1
    async with new:
        yield library, new


async def _lease_again(new: ServiceHarness) -> None:
    assert (await new.control("lease", {"owner": OWNER})).json()["generation"] == 2
    new.generation = 2


def _park(monkeypatch: pytest.MonkeyPatch, app: object) -> tuple[asyncio.Event, asyncio.Event]:
    """Stop the old process's next write after it has compared the step and before its transaction begins."""
    parked, wake = asyncio.Event(), asyncio.Event()
    write = ServiceMiddleware._write

    async def parking(self: ServiceMiddleware, *arguments: object) -> object:
        if self._episodes is app and not parked.is_set():
            parked.set()
            await wake.wait()
        return await write(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ServiceMiddleware, "_write", parking)
    return parked, wake


@pytest.mark.parametrize("has_file", [True, False])
@pytest.mark.parametrize("with_lease", [True, False])
async def test_a_suspended_write_is_not_committed_again(
    library: ServiceHarness, monkeypatch: pytest.MonkeyPatch, *, has_file: bool, with_lease: bool
) -> None:
    async with two_processes(library) as (old, new):
        if has_file:
            await old.post("/books", json={"title": "First"})
        new.step = old.step
        parked, wake = _park(monkeypatch, old.app.state.episodes)
        writing = asyncio.create_task(old.post("/books", json={"title": "Once"}))
        await parked.wait()
        if with_lease:
            await _lease_again(new)
        assert (await new.post("/books", json={"title": "Once"})).status_code == 201
        wake.set()
        late = await writing
        if with_lease:
            assert (late.status_code, late.json()["code"]) == (409, "stale-generation")
        else:
            assert late.status_code == 201
        assert [row["title"] for row in (await new.rows("books")).values()].count("Once") == 1
        assert [line.step for line in (await new.evidence()).audit] == list(range(1, new.step + 1))
        assert len(list(library.folder.glob("*/episodes/*/*.db"))) == 1


async def test_a_suspended_write_is_rejected_once_the_next_step_was_taken(
    library: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_processes(library) as (old, new):
        parked, wake = _park(monkeypatch, old.app.state.episodes)
        writing = asyncio.create_task(old.post("/books", json={"title": "Once"}))
        await parked.wait()
        await new.post("/books", json={"title": "Once"})
        await new.post("/books", json={"title": "Next"})
        wake.set()
        assert (await writing).json()["code"] == "step-superseded"
        titles = [row["title"] for row in (await new.rows("books")).values()]
        assert (titles.count("Once"), titles.count("Next")) == (1, 1)


async def test_a_settle_is_applied_once(library: ServiceHarness) -> None:
    async with two_processes(library) as (old, new):
        await old.post("/books/B-1/lend")
        await old.digest()
        new.step = old.step
        settled = await new.advance(minutes=24 * 60)
        assert settled.changes
        await old.advance(minutes=24 * 60)
        evidence = await new.evidence()
        assert [change.seq for change in evidence.changes] == [1, 2]


async def test_a_copy_never_replaces_a_live_file(library: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old process has read the template and is stopped before it renames its copy."""
    async with two_processes(library) as (old, new):
        written = False
        reached = failpoints.failpoint

        def at(place: str) -> None:
            nonlocal written
            if place == "service.epoch.before" and not written:
                written = True
                session = new.session()
                new.app.state.episodes._copy_on_write(session)
                session.db.exec_driver_sql("INSERT INTO _meta VALUES ('mark', 'new')")
                commit(session.db)
            reached(place)

        monkeypatch.setattr(database, "failpoint", at)
        assert (await old.post("/books", json={"title": "Once"})).status_code == 201
        kept = old.session().db.exec_driver_sql("SELECT value FROM _meta WHERE key = 'mark'").scalar()
        assert kept == "new"
        assert len(list(library.folder.glob("*/episodes/*/*.db"))) == 1


async def test_an_old_process_does_not_remove_a_later_epoch(library: ServiceHarness) -> None:
    async with two_processes(library) as (old, new):
        await old.post("/books/B-1/lend")
        new.epoch, new.step = 3, 0
        await new.post("/books/B-2/lend")
        old.epoch, old.step = 2, 0
        late = await old.post("/books/B-2/lend")
        assert (late.status_code, late.json()["code"]) == (409, "stale-epoch")
        assert [path.name.partition("-")[0] for path in library.folder.glob("*/episodes/*/*.db")] == ["3"]


async def test_a_late_drop_of_an_older_generation_removes_nothing(library: ServiceHarness) -> None:
    async with two_processes(library) as (old, new):
        await old.post("/books/B-1/lend")
        await _lease_again(new)
        refused = await old.control("drop", {})
        assert (refused.status_code, refused.json()["code"]) == (409, "stale-generation")
        assert list(library.folder.glob("*/episodes/*/*.db"))


async def test_temporary_files_of_a_running_process_are_not_removed(library: ServiceHarness, tmp_path: Path) -> None:
    theirs, gone = tmp_path / ".1.db.tmp-1-1", tmp_path / f".1.db.tmp-{_unused_pid()}-1"
    for path in (theirs, gone):
        path.touch()
    database.remove_temporary_files(tmp_path)
    assert theirs.exists()
    assert not gone.exists()


def _unused_pid() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child
