"""Data folders: locked by one process at a time, private, and deleted at the end if they are temporary."""

from __future__ import annotations

import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from companyos_shared import temporary_folders
from companyos_shared.folder_lock import FolderInUseError, Holder, holder_of, kill_orphan, lock_folder, start_time
from companyos_shared.framework import ServiceSettings, create_app
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.private_files import make_private_folder
from companyos_shared.temporary_folders import temporary_data_folder

HOLDER = """
import sys, time
from pathlib import Path
from companyos_shared.folder_lock import lock_folder

with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def held_by_another_process(folder: Path, mark: str = "mark") -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), mark], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        try:
            yield other.pid
        finally:
            other.kill()


def test_a_folder_is_locked_by_one_process_and_released_at_its_end(tmp_path: Path) -> None:
    with lock_folder(tmp_path):
        assert holder_of(tmp_path) == Holder(os.getpid(), start_time(os.getpid()))
        with pytest.raises(FolderInUseError, match=str(os.getpid())), lock_folder(tmp_path):
            pass
    with lock_folder(tmp_path):
        pass


def test_a_folder_can_be_locked_without_space_for_the_name_of_the_process(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
        try:
            stack.enter_context(lock_folder(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        with pytest.raises(FolderInUseError, match="another process"), lock_folder(tmp_path):
            pass


def test_a_process_that_runs_the_module_is_killed_even_if_it_is_stopped(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path, "a.module") as pid:
        os.kill(pid, signal.SIGSTOP)
        kill_orphan(tmp_path, "a.module")
        with lock_folder(tmp_path):
            pass


def test_any_other_process_is_not_killed_and_is_named(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as pid:
        with pytest.raises(FolderInUseError, match=f"process {pid} ") as refusal:
            kill_orphan(tmp_path, "a.module")
        assert len(str(refusal.value).splitlines()) == 1
        time.sleep(0.05)
        assert Holder(pid, start_time(pid)).is_running


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pid": "x", "started": 1}'])
def test_an_unreadable_holder_is_not_killed(tmp_path: Path, content: str) -> None:
    with held_by_another_process(tmp_path, "a.module"):
        (tmp_path / "lock").write_text(content)
        with pytest.raises(FolderInUseError, match="another process"):
            kill_orphan(tmp_path, "a.module")


def test_a_process_that_reuses_the_id_of_the_holder_is_not_killed(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path, "a.module") as pid:
        (tmp_path / "lock").write_text(f'{{"pid": {pid}, "started": 1}}')
        with pytest.raises(FolderInUseError, match="another process"):
            kill_orphan(tmp_path, "a.module")


async def test_a_service_does_not_start_on_a_folder_in_use(library: ServiceHarness) -> None:
    folder = library.app.state.episodes.storage.folder
    with held_by_another_process(folder) as pid, pytest.raises(FolderInUseError, match=str(pid)):
        await library.app.router.lifespan_context(library.app).__aenter__()
    async with library.app.router.lifespan_context(library.app):
        assert holder_of(folder) == Holder(os.getpid(), start_time(os.getpid()))


def test_a_temporary_folder_is_deleted_on_exit(tmp_path: Path) -> None:
    with temporary_data_folder(tmp_path) as folder:
        (folder / "data").mkdir()
    assert list(tmp_path.iterdir()) == []


def test_the_next_process_deletes_the_folder_of_a_killed_one_but_not_one_in_use(tmp_path: Path) -> None:
    with temporary_data_folder(tmp_path) as folder:
        used = folder.rename(tmp_path / "companyos-data-999999999-used")  # in another container, pids differ
        killed = tmp_path / f"companyos-data-{os.getpid()}-killed"
        killed.mkdir()
        with temporary_data_folder(tmp_path) as other:
            assert set(tmp_path.iterdir()) == {used, other}


def test_a_folder_of_another_user_and_a_link_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (target := tmp_path / "target").mkdir()
    (link := tmp_path / "companyos-data-1-link").symlink_to(target)
    with temporary_data_folder(tmp_path):
        assert link.is_symlink()
    (foreign := tmp_path / "companyos-data-1-foreign").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with temporary_data_folder(tmp_path):
        assert list(foreign.iterdir()) == list(target.iterdir()) == []


def test_a_folder_that_cannot_be_locked_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_folder: Path) -> NoReturn:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(temporary_folders, "lock_folder", fail)
    with pytest.raises(OSError, match="Too many open files"), temporary_data_folder(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


async def test_a_service_without_a_data_folder_locks_a_temporary_one_and_deletes_it_at_shutdown(
    library: ServiceHarness,
) -> None:
    app = create_app(library.service, ServiceSettings(service_key=None, service_key_file=None, data_dir=None))
    folder = app.state.episodes.storage.folder.parent
    async with app.router.lifespan_context(app):
        with pytest.raises(FolderInUseError, match=str(os.getpid())), lock_folder(folder):
            pass
    assert not folder.exists()


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


async def test_a_service_keeps_its_files_private(library: ServiceHarness, tmp_path: Path) -> None:
    settings = ServiceSettings(service_key=None, service_key_file=None, data_dir=tmp_path / "data" / "here")
    app = create_app(library.service, settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as http:
        assert (await http.post("/books", json={"title": "Kept"})).status_code == 201
        found = modes(tmp_path / "data")
    assert len(found) > 5
    assert {path: oct(mode) for path, mode in found.items() if mode & 0o077} == {}


def test_a_folder_with_public_permissions_is_made_private_with_its_contents(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data"
    (folder / "episodes").mkdir(parents=True)
    (folder / "episodes" / "1.db").write_bytes(b"rows")
    outside = tmp_path / "outside"
    outside.write_text("not ours")
    (folder / "link").symlink_to(outside)
    with caplog.at_level(logging.WARNING):
        make_private_folder(folder)
    assert modes(folder) == {".": 0o700, "episodes": 0o700, "episodes/1.db": 0o600, "link": 0o644}
    assert "was readable by other users" in caplog.text
    caplog.clear()
    make_private_folder(folder)
    assert caplog.text == ""


def test_a_folder_of_another_user_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    monkeypatch.setattr(Path, "chmod", refused)
    with caplog.at_level(logging.WARNING):
        assert make_private_folder(folder) == folder
    assert "belongs to another user" in caplog.text
