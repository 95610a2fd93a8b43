"""The lock of a data folder: one process at a time, whose id the file contains."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from companyos_shared.folder_lock import FolderInUseError, Holder, holder_of, kill_orphan, lock_folder, start_time
from companyos_shared.framework.testing import ServiceHarness

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
