"""Sources over the control plane: checked before anything starts from them, deleted, exported."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx

from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.control import source_of


async def _refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


def _snapshot_file(library: ServiceHarness, source: str) -> Path:
    return library.folder / "library" / "snapshots" / f"{source}.db"


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


async def _fork_refused(library: ServiceHarness, source: str) -> tuple[int, str]:
    """Try to start another episode from the source, return the error, and switch back to the live episode."""
    kept = library.source, library.episode
    library.source, library.episode = source, "fork"
    refused = await _refusal(await library.get("/books/B-1"))
    library.source, library.episode = kept
    return refused


async def test_intact_templates_and_snapshots_pass_the_check(library: ServiceHarness) -> None:
    assert (await library.check(library.source)).bytes > 0
    source = await library.snapshot()
    checked = await library.check(source)
    assert (checked.source, checked.bytes) == (source, _snapshot_file(library, source).stat().st_size)


async def test_a_snapshot_of_another_version_of_the_service_is_rejected_as_such(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    before = await library.digest()
    file = _snapshot_file(library, await library.snapshot())
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE _meta SET value = 'another' WHERE key = 'schema'")
        db.commit()
    source = hashlib.sha256(file.read_bytes()).hexdigest()
    file.rename(_snapshot_file(library, source))
    answer = await library.control("check", {"source": source})
    assert await _refusal(answer) == (410, "source-outdated")
    assert answer.json()["title"] == "Snapshot of another service version"
    assert await _fork_refused(library, source) == (410, "source-outdated")
    assert await library.digest() == before


async def test_a_snapshot_whose_schema_is_not_text_is_listed_and_rejected(library: ServiceHarness) -> None:
    """Python raises UnicodeDecodeError instead of sqlite3.Error if the message quotes such a schema."""
    source = await library.snapshot()
    file = _snapshot_file(library, source)
    file.write_bytes(file.read_bytes().replace(b"CREATE TRIGGER", b"CREATE TRIG\xc7ER"))
    listed = (await library.control("inventory", {})).json()["sources"]
    assert [(one["source"], one["episode"]) for one in listed] == [(source, None)]
    assert await _refusal(await library.control("check", {"source": source})) == (410, "source-corrupt")


async def test_a_snapshot_is_verified_once_and_again_when_its_file_changes(library: ServiceHarness) -> None:
    source = await library.snapshot()
    file = _snapshot_file(library, source)
    await library.check(source)
    kept, data = file.stat(), file.read_bytes()
    file.write_bytes(_flipped(data))
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    await library.check(source)  # the same inode, size and time: it is not read again
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns + 1))
    assert await _refusal(await library.control("check", {"source": source})) == (410, "source-corrupt")
    file.write_bytes(data)
    await library.check(source)


async def test_a_deleted_snapshot_is_unknown_and_episodes_started_from_it_continue(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    source = await library.snapshot()
    library.source, library.episode = source, "fork"
    before = await library.digest()
    await library.forget(source)
    await library.forget(source)
    assert not _snapshot_file(library, source).exists()
    assert await library.digest() == before
    assert await _refusal(await library.control("check", {"source": source})) == (404, "unknown-source")


async def test_deleting_a_snapshot_never_deletes_a_template(library: ServiceHarness) -> None:
    await library.forget(library.source)
    await library.check(library.source)


def test_a_source_id_depends_only_on_the_service_and_the_bytes_of_the_document() -> None:
    assert source_of("library", b"{}") == "95dc8194eeb5e527390cd26a70fccae79cd9a98ab05ae75e48ec0ece16248c16"
    assert source_of("other", b"{}") != source_of("library", b"{}") != source_of("library", b"{ }")


async def test_templates_and_their_copies_are_valid_databases_in_wal_mode(library: ServiceHarness) -> None:
    await library.post("/books/B-1/lend")
    files = [*library.folder.rglob("templates/*/*.db"), *library.folder.rglob("episodes/*/*.db")]
    assert len(files) == 2
    for file in files:
        with closing(sqlite3.connect(f"file:{file}?mode=rw", uri=True)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert db.execute("PRAGMA page_size").fetchone() == (1024,)
