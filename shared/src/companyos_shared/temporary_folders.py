"""Temporary data folders: private, locked while in use, and on tmpfs where possible."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from companyos_shared.folder_lock import lock_folder

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the tmpfs that every Linux has

MIN_FREE_BYTES = 512 * 1024 * 1024
"""With less free shared memory, the disk is used if it has more. Containers have 64 MiB by default."""

_PREFIX = "companyos-data-"


@contextmanager
def temporary_data_folder(parent: Path | None = None) -> Iterator[Path]:
    """Provide a temporary folder, on tmpfs if possible, after deleting those of processes that no longer run.

    The folder is locked while it is in use. It gets its name only then, so that no other process deletes it before.
    """
    for place in (SHARED_MEMORY, Path(tempfile.gettempdir())) if parent is None else (parent,):
        _remove_orphans(place)
    parent = choose_temporary_parent() if parent is None else parent
    folder = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}{os.getpid()}-", dir=parent))
    try:
        with lock_folder(folder):
            folder = folder.rename(parent / folder.name.removeprefix("."))
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


def _remove_orphans(parent: Path) -> None:
    """Delete this user's temporary folders that no process has locked.

    Process ids are not unique across containers. A folder or link of another user could redirect the lock file.
    """
    for orphan in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if orphan.is_symlink() or orphan.stat().st_uid != os.geteuid():
                continue
            with lock_folder(orphan):
                shutil.rmtree(orphan, ignore_errors=True)
