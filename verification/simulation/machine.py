"""The simulated machine: files, clocks and randomness, and the patches that install them.

Files (on a tmpfs) and SQLite are real. The timing of system calls, disk space and the effects of power loss are
simulated.
"""

from __future__ import annotations

import builtins
import io
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

from companyos_shared import failpoints
from companyos_shared.framework import database
from verification.simulation.disk import Disk
from verification.simulation.scheduler import Process, Scheduler

EPOCH_S = 1_770_000_000.0
"""The wall clock at the start of every history."""

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Machine:
    """One simulated machine. `installed` patches the product for the duration of a history."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.scheduler = Scheduler(seed)
        self.disk = Disk(folder, random.Random(f"disk {seed}"))
        self.wall_jump_s = 0.0
        self._open: dict[Process, _OpenFiles] = {}
        self._rng = random.Random(f"machine {seed}")

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Patch the product to use this machine."""
        scheduler = self.scheduler
        observed = failpoints.replace_handler(scheduler.preemption_point)
        with ExitStack() as stack:
            stack.callback(failpoints.replace_handler, observed)

            def patch(target: Any, name: str, value: Any) -> None:
                stack.enter_context(mock.patch.object(target, name, value))

            for name in ("replace", "rename", "link", "unlink", "remove", "fsync", "fdatasync", "write", "pwrite"):
                patch(os, name, self._passing(name, getattr(os, name)))
            patch(os, "open", self._opening(os.open))
            patch(io, "open", self._checked_open(io.open))
            patch(builtins, "open", self._checked_open(builtins.open))
            patch(os, "urandom", self._rng.randbytes)
            patch(random, "_urandom", self._rng.randbytes)
            patch(time, "monotonic", self._monotonic(time.monotonic))
            patch(time, "time", self._wall(time.time))
            patch(sqlite3, "connect", self._connecting(sqlite3.connect))
            patch(database, "_BUSY_TIMEOUT_S", 0.0)
            yield

    def open_files(self, process: Process) -> _OpenFiles:
        """Return the open files of a process, which are closed when it dies."""
        found = self._open.get(process)
        if found is None:
            found = self._open[process] = _OpenFiles()
            process.on_death.append(found.close_all)
        return found

    def _passing(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        scheduler, disk = self.scheduler, self.disk
        place = f"os.{name}"
        before = getattr(disk, f"before_{name}", None)

        def passing(*args: Any, **named: Any) -> Any:
            if scheduler.current is None:
                return real(*args, **named)
            scheduler.preemption_point(place)
            if before is not None:
                before(*args)
            return real(*args, **named)

        return passing

    def _opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def opening(path: Any, flags: int, *args: Any, **named: Any) -> int:
            process = self.scheduler.current
            if process is not None and flags & os.O_CREAT:
                self.disk.check_room(path)
            fd = real(path, flags, *args, **named)
            if process is not None:
                self.open_files(process).descriptors.append((fd, os.fstat(fd).st_ino))
            return fd

        return opening

    def _checked_open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        scheduler, disk = self.scheduler, self.disk

        def opening(file: Any, mode: str = "r", *args: Any, **named: Any) -> Any:
            if scheduler.current is not None and mode[0] in "wax":
                disk.check_room(file)
            return real(file, mode, *args, **named)

        return opening

    def _monotonic(self, real: Callable[[], float]) -> Callable[[], float]:
        def monotonic() -> float:
            current = self.scheduler.current
            return real() if current is None else current.monotonic()

        return monotonic

    def _wall(self, real: Callable[[], float]) -> Callable[[], float]:
        def wall() -> float:
            current = self.scheduler.current
            return real() if current is None else EPOCH_S + self.scheduler.now + self.wall_jump_s

        return wall

    def _connecting(self, real: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
        def connect(name: Any, *args: Any, **named: Any) -> sqlite3.Connection:
            process = self.scheduler.current
            if process is None:
                return real(name, *args, **named)
            process.pass_preemption_point("sqlite.connect")
            connection = real(name, *args, factory=SimulatedConnection, **named)
            assert isinstance(connection, SimulatedConnection)
            connection.machine, connection.process, connection.name = self, process, str(name)
            self.open_files(process).connections.append(connection)
            return connection

        return connect


class SimulatedConnection(sqlite3.Connection):
    """A connection that yields to other processes while waiting for a lock, and raises on a full disk."""

    machine: Machine
    process: Process
    name: str

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        """Execute a statement; at the start of a transaction, wait for the lock."""
        if not sql.startswith("BEGIN"):
            return super().execute(sql, *args)
        self.machine.scheduler.preemption_point("sqlite.begin")
        give_up_at = self.machine.scheduler.now + _LOCK_WAIT_S
        while True:
            try:
                return super().execute(sql, *args)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BUSY or self.machine.scheduler.now >= give_up_at:
                    raise
                self.process.stalled_until = self.machine.scheduler.now + _LOCK_PAUSE_S
                self.process.hold("sqlite.locked")

    def commit(self) -> None:
        """Commit; raises OperationalError if the disk is full."""
        self.machine.scheduler.preemption_point("sqlite.commit")
        if self.machine.disk.is_full and self.in_transaction:
            raise _no_room()
        super().commit()
        self.machine.scheduler.preemption_point("sqlite.committed")

    def rollback(self) -> None:
        """Roll back; does nothing in a dead process."""
        if not self.process.is_dead:
            super().rollback()


_LOCK_WAIT_S = 2.0
_LOCK_PAUSE_S = 0.05


class _OpenFiles:
    """A process's open files. When it dies, they are closed without SQLite's cleanup."""

    def __init__(self) -> None:
        self.descriptors: list[tuple[int, int]] = []
        self.connections: list[SimulatedConnection] = []

    def close_all(self) -> None:
        """Close everything as at the death of a process: without commit and checkpoint."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd, inode in self.descriptors:
            with suppress(OSError):
                if os.fstat(fd).st_ino == inode:
                    os.dup2(nothing, fd)
        os.close(nothing)
        keepers = [keeper for keeper in map(_reader_beside, self.connections) if keeper is not None]
        for connection in self.connections:
            with suppress(sqlite3.Error):
                sqlite3.Connection.close(connection)
        for keeper in keepers:
            with suppress(sqlite3.Error):
                keeper.close()


def _reader_beside(connection: SimulatedConnection) -> sqlite3.Connection | None:
    """Return a reader that is closed last, so that SQLite does not checkpoint the log as in a clean shutdown."""
    if "immutable" in connection.name or "mode=r" not in connection.name:
        return None
    try:
        (_, _, path) = sqlite3.Connection.execute(connection, "PRAGMA database_list").fetchone()
        reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0)
        reader.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error:  # the connection is closed, or its file is gone
        return None
    return reader


def _no_room() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    error.sqlite_errorname = "SQLITE_FULL"
    return error
