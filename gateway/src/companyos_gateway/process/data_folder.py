"""The gateway's data folder: configured, or a temporary private one, on tmpfs where possible."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from companyos_shared.folder_lock import lock_folder
from companyos_shared.private_files import make_private_folder

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the tmpfs that every Linux has

MIN_FREE_BYTES = 512 * 1024 * 1024
"""With less free shared memory, the disk is used if it has more. Containers have 64 MiB by default."""

_FOLDER_PREFIX = "companyos-embedded-"


@dataclass(frozen=True, slots=True)
class GatewayFolders:
    """Folders of one gateway: `private` is deleted on exit, `data` is for all data, `gateway` is its own part of it."""

    private: Path
    data: Path
    gateway: Path


@contextmanager
def open_folders(data_dir: Path | None = None) -> Iterator[GatewayFolders]:
    """Open and lock the folders of a gateway; without `data_dir` all of them are deleted on exit.

    Raises FolderInUseError if another gateway uses `data_dir`, and OSError if it cannot be used.
    """
    with temporary_data_folder() as private:
        data = private / "data" if data_dir is None else data_dir
        with make_locked_folder(data / "gateway") as own:
            yield GatewayFolders(private, data, own)


@contextmanager
def temporary_data_folder(parent: Path | None = None) -> Iterator[Path]:
    """Provide a temporary folder, on tmpfs if possible, after deleting those of processes that no longer run.

    The folder is locked while it is in use. It gets its name only then, so that no other process deletes it before.
    """
    for place in (SHARED_MEMORY, Path(tempfile.gettempdir())) if parent is None else (parent,):
        _remove_orphans(place)
    parent = choose_temporary_parent() if parent is None else parent
    unnamed = Path(tempfile.mkdtemp(prefix=f".{_FOLDER_PREFIX}{os.getpid()}-", dir=parent))
    with make_locked_folder(unnamed):
        folder = unnamed.rename(parent / unnamed.name.removeprefix("."))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def choose_temporary_parent(shared_memory: Path = SHARED_MEMORY) -> Path:
    """Return shared memory if it has MIN_FREE_BYTES or at least as much as the disk, else the temporary folder."""
    disk = Path(tempfile.gettempdir())
    if not os.access(shared_memory, os.W_OK):
        return disk
    free_bytes = shutil.disk_usage(shared_memory).free
    return shared_memory if free_bytes >= MIN_FREE_BYTES or free_bytes >= shutil.disk_usage(disk).free else disk


@contextmanager
def make_locked_folder(folder: Path) -> Iterator[Path]:
    """Make a private folder if it is missing, and hold its lock; raises FolderInUseError or OSError."""
    make_private_folder(folder)
    with lock_folder(folder):
        yield folder


def _remove_orphans(parent: Path) -> None:
    """Delete this user's temporary folders that no process has locked.

    Process ids are not unique across containers. A folder or link of another user could redirect the lock file.
    """
    for orphan in parent.glob(f"{_FOLDER_PREFIX}*"):
        with suppress(OSError):
            if orphan.is_symlink() or orphan.stat().st_uid != os.geteuid():
                continue
            with make_locked_folder(orphan):
                shutil.rmtree(orphan, ignore_errors=True)
