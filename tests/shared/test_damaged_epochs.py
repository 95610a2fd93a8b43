"""Damage to the files of an epoch is detected: no damaged file is read as intact or replaced by an empty one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from companyos_shared.framework.testing import ServiceHarness


def _file(library: ServiceHarness) -> Path:
    (found,) = library.folder.glob("*/episodes/*/*.db")
    return found


async def _write(library: ServiceHarness, count: int = 3) -> None:
    for number in range(1, count + 1):
        assert (await library.post(f"/books/B-{number}/lend")).status_code == 200
        library.written_seq, library.written_step = library.last_report.changes[-1].seq, library.step


def _flip(path: Path, place: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(content)


def _log(path: Path) -> Path:
    return Path(f"{path}-wal")


def _delete(*paths: Path) -> None:
    for path in paths:
        path.unlink()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "database deleted": lambda path: path.unlink(),
    "log deleted": lambda path: _log(path).unlink(),
    "both deleted": lambda path: _delete(path, _log(path)),
    "database flipped at the start": lambda path: _flip(path, 0.0),
    "database flipped in the middle": lambda path: _flip(path, 0.5),
    "database flipped at the end": lambda path: _flip(path, 0.9999),
    "database flipped in a row": lambda path: path.write_bytes(path.read_bytes().replace(b"Volume 10", b"Volume 11")),
    "database cut": lambda path: path.write_bytes(path.read_bytes()[:-1024]),
    "database emptied": lambda path: path.write_bytes(b""),
    "log flipped at the start": lambda path: _flip(_log(path), 0.0),
    "log flipped in the middle": lambda path: _flip(_log(path), 0.5),
    "log flipped at the end": lambda path: _flip(_log(path), 0.9999),
    "log cut": lambda path: _log(path).write_bytes(_log(path).read_bytes()[:-100]),
    "log emptied": lambda path: _log(path).write_bytes(b""),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("ends", ["closed", "killed"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
async def test_a_damaged_epoch_is_rejected(
    library: ServiceHarness, damage: Callable[[Path], object], ends: str
) -> None:
    await _write(library)
    before = library.app.state.episodes
    if ends == "killed":  # its connections stay open, and the next process gets a copy of the files
        copied = {path: path.read_bytes() for path in (_file(library), _log(_file(library)))}
        before.close()
        for path, content in copied.items():
            path.write_bytes(content)
    else:
        before.close()
    damage(_file(library))
    library.restart()
    for refused in (await library.get("/books/B-1"), await library.post("/books/B-5/lend")):
        assert (refused.status_code, refused.json()["code"]) == (410, "episode-corrupt")
    for verb in ("digest", "evidence", "snapshot", "settle"):
        assert (await library.control(verb, {})).json()["code"] == "episode-corrupt"
    library.epoch, library.written_seq, library.written_step = 2, 0, 0
    assert (await library.get("/books/B-1")).json()["lent"] is False


async def test_a_database_whose_schema_is_not_text_has_no_generation(library: ServiceHarness) -> None:
    await _write(library)
    episodes, path = library.app.state.episodes, _file(library)
    episodes.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TRIGGER", b"CREATE TRIG\xc7ER"))
    assert episodes.database.read_generation(path) == 0


async def test_a_database_file_does_not_change_after_it_was_created(library: ServiceHarness) -> None:
    await _write(library, 1)
    path = _file(library)
    content, written = path.read_bytes(), path.stat().st_mtime_ns
    for _ in range(3):
        await library.post("/books", json={"title": "New"})
        library.restart()
        assert _log(path).stat().st_size > 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, written)
    assert [line.step for line in (await library.evidence()).audit] == [1, 2, 3, 4]


async def test_a_fork_without_its_database_is_rejected(library: ServiceHarness) -> None:
    await _write(library)
    library.source, library.episode = await library.snapshot(), "fork"
    await library.post("/books/B-7/lend")
    library.written_seq = library.last_report.changes[-1].seq
    library.app.state.episodes.close()
    for path in library.folder.glob("*/episodes/fork/*"):
        path.unlink()
    library.restart()
    assert (await library.get("/books/B-1")).json()["code"] == "episode-corrupt"
