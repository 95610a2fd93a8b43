"""Exclusive lock on a data folder. The lock file names the process that holds it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LOCK_FILE = "lock"
RELEASE_TIMEOUT_S = 5.0

_POLL_S = 0.02
_START_TIME = 19
"""Index of the start time in /proc/<pid>/stat, counted after the program name."""


class FolderInUseError(OSError):
    """Raised if another process holds the lock of a folder."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, identified by id and start time in clock ticks since boot."""

    pid: int
    started: int

    @property
    def is_running(self) -> bool:
        """Return whether this process is still running."""
        return start_time(self.pid) == self.started

    @property
    def command(self) -> list[str]:
        """The command line of the process; empty if it cannot be read."""
        try:
            return Path(f"/proc/{self.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return []


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raises FolderInUseError, which names the holder.

    If the disk is full, the lock file may not name this process.
    """
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _try_lock(descriptor):
            raise FolderInUseError(f"The folder {folder} is in use by {_describe(holder_of(folder))}.")
        own = {"pid": os.getpid(), "started": start_time(os.getpid())}
        with suppress(OSError):
            os.ftruncate(descriptor, os.pwrite(descriptor, json.dumps(own).encode(), 0))
        yield
    finally:
        os.close(descriptor)


def kill_orphan(folder: Path, module: str) -> None:
    """Kill an orphaned process that runs `module` and holds the folder, if there is one.

    SIGKILL also ends a stopped process. Raises FolderInUseError if another process holds the folder, or if the lock is
    not released in time.
    """
    if not (folder / LOCK_FILE).exists() or _is_free(folder):
        return
    holder = holder_of(folder)
    if holder is None or not _kill(holder, module):
        if _is_free(folder):
            return
        raise FolderInUseError(f"The folder {folder} is in use by {_describe(holder)}.")
    give_up_at = time.monotonic() + RELEASE_TIMEOUT_S
    while not _is_free(folder):
        if time.monotonic() > give_up_at:
            raise FolderInUseError(f"The folder {folder} is still in use after process {holder.pid} was killed.")
        time.sleep(_POLL_S)


def holder_of(folder: Path) -> Holder | None:
    """Return the process that took the lock last, or None if the file does not name it."""
    try:
        content = json.loads((folder / LOCK_FILE).read_bytes())
        return Holder(int(content["pid"]), int(content["started"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def start_time(pid: int) -> int:
    """Return the start time of a process in clock ticks since boot; 0 if it cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[_START_TIME])


def _kill(holder: Holder, module: str) -> bool:
    """Kill the holder if it still runs the module, and return whether it was killed. Process ids may be reused."""
    try:
        handle = os.pidfd_open(holder.pid)
    except OSError:
        return False
    try:
        if not holder.is_running or module not in holder.command:
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def _is_free(folder: Path) -> bool:
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    try:
        return _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    """Try to take the lock, and return whether it was free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _describe(holder: Holder | None) -> str:
    if holder is None or not holder.is_running:  # the process may be in another container, with process ids of its own
        return "another process"
    return f"process {holder.pid} ({' '.join(' '.join(holder.command).split()) or 'unknown command'})"
