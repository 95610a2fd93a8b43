"""Durable file writes: write a temporary file, sync it, rename it and sync the folder."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from pathlib import Path

TEMPORARY = ".tmp"

_NUMBERS = itertools.count(1)


def temporary_name(path: Path) -> Path:
    """Return a hidden name beside `path` that no other process uses."""
    return path.with_name(f".{path.name}{TEMPORARY}-{os.getpid()}-{next(_NUMBERS)}")


def belongs_to_running_process(path: Path) -> bool:
    """Return whether a temporary name belongs to another running process."""
    pid = path.name.rpartition(TEMPORARY)[2].removeprefix("-").partition("-")[0]
    return pid.isdecimal() and int(pid) != os.getpid() and Path("/proc", pid).exists()


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file atomically; after a power loss it has either the old or the new content."""
    temporary = temporary_name(path)
    try:
        with temporary.open("xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Flush a file to disk."""
    _sync(path, os.O_RDONLY)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to disk."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
