"""Temporary data folders are deleted on exit, or by the next process that makes one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from companyos_shared import temporary_folders
from companyos_shared.folder_lock import FolderInUseError, lock_folder
from companyos_shared.framework import ServiceSettings, create_app
from companyos_shared.temporary_folders import temporary_data_folder

if TYPE_CHECKING:
    from companyos_shared.framework.testing import ServiceHarness


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
