"""A service that stands still while its gateway dies and starts again, and then goes on with what it was doing."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path

from companyos_shared.chassis.database import epoch_files
from faults.cells.work import during
from faults.embedded import EmbeddedHouse
from faults.house import GATEWAY, SERVICES
from faults.trial import Build, Cell, Trial

PARKED_S = 0.2
AFTERWARDS_S = 0.3
"""How long the service that went on is given to do what it was doing."""


async def stop_across_restart(trial: Trial, *, work: str) -> None:
    """Stop a service with SIGSTOP, kill and start its gateway, and let the service go on."""
    service = trial.chance.choice(SERVICES)

    async def strike() -> None:
        await trial.mid_work()
        pid = _pid_of(trial, service)
        os.kill(pid, signal.SIGSTOP)
        await trial.house.kill([GATEWAY])
        starting = asyncio.create_task(trial.house.start_processes([GATEWAY]))
        if not isinstance(trial.house, EmbeddedHouse):  # the gateway waits for the service, which has no successor
            await asyncio.sleep(trial.chance.uniform(0.0, 1.0))
            _go_on(pid)
        await starting
        _go_on(pid)
        await asyncio.sleep(AFTERWARDS_S)

    trial.outlasts = True
    await during(trial, work, strike)


async def park_across_restart(trial: Trial, *, work: str) -> None:
    """Hold the write lock of every database of a service, kill and start its gateway, and release the lock."""
    service = trial.chance.choice(SERVICES)

    async def strike() -> None:
        await trial.mid_work()
        async with _locked(trial, service):
            await asyncio.sleep(trial.chance.uniform(0.0, PARKED_S))
            await trial.house.kill([GATEWAY])
            starting = asyncio.create_task(trial.house.start_processes([GATEWAY]))
            await asyncio.sleep(trial.chance.uniform(0.0, 1.0))
        await starting
        await asyncio.sleep(AFTERWARDS_S)

    trial.outlasts = True
    await during(trial, work, strike)


@asynccontextmanager
async def _locked(trial: Trial, service: str) -> AsyncIterator[None]:
    """Hold the write lock of every database of a service that nobody holds at the moment."""
    folder = trial.house.data / service / "episodes"
    paths = [path for episode in folder.glob("*") for path in epoch_files(episode).values()]
    with ExitStack() as held:
        for path in paths:
            # A read-only connection is closed last, so that SQLite leaves both the log and the database as they are.
            held.enter_context(closing(_reading(path)))
            lock = held.enter_context(closing(sqlite3.connect(path, isolation_level=None, timeout=0.05)))
            with suppress(sqlite3.OperationalError):
                lock.execute("BEGIN IMMEDIATE")
        yield


def _reading(path: Path) -> sqlite3.Connection:
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    reader.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    return reader


def _pid_of(trial: Trial, service: str) -> int:
    house = trial.house
    if not isinstance(house, EmbeddedHouse):
        return house.processes[service].pid
    pid = house.child(service)
    assert pid is not None, f"the gateway has no child {service}"
    return pid


def _go_on(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


CELLS = [
    *(
        Cell(f"{name} across a restart of the gateway, in mid {work}", partial(run, work=work), full=30, build=build)
        for build, name, run in (
            (Build.PLAIN, "SIGSTOP of a service", stop_across_restart),
            (Build.PLAIN, "a locked database", park_across_restart),
            (Build.EMBEDDED, "embedded: SIGSTOP of a child", stop_across_restart),
            (Build.EMBEDDED, "embedded: a locked database", park_across_restart),
        )
        for work in ("step", "restore")
    ),
]
