"""An orphan: a service whose gateway died while it waited for a database lock, and that resumes after its successor.

An outside connection holds the lock, so that the service waits after the check of a call and before its transaction.
The service is stopped, the lock is released, and a second service on the same files takes the step.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from contextlib import ExitStack, closing, suppress
from functools import partial

from companyos_shared.framework.database import epoch_files
from verification.faults.cells.workload import run_during
from verification.faults.deployment import GATEWAY, SERVICES
from verification.faults.deployment_kinds import EmbeddedDeployment
from verification.faults.trial import Cell, Trial
from verification.process_stats import process_tree

UNTIL_PARKED_S = (0.1, 0.4)
LOCK_TIMEOUT_S = 0.5
AFTERWARDS_S = 0.5
"""Time for the orphan to commit its pending work, in seconds."""


async def continue_after_successor(trial: Trial, *, work: str) -> None:
    """Block a service on a lock, stop it, restart its gateway with a successor, and continue the old process."""
    service = trial.rng.choice(SERVICES)

    async def strike() -> None:
        await trial.wait_for_random_moment()
        pid = next(
            pid for pid, role in process_tree(trial.deployment.processes[GATEWAY].pid).items() if role == service
        )
        with ExitStack() as held:
            await asyncio.to_thread(_lock_databases, trial, service, held)
            await asyncio.sleep(trial.rng.uniform(*UNTIL_PARKED_S))
            os.kill(pid, signal.SIGSTOP)
        try:
            await trial.deployment.restart([GATEWAY])
            await asyncio.sleep(AFTERWARDS_S)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(AFTERWARDS_S)

    trial.exceeds_deadline = True
    await run_during(trial, work, strike)


def _lock_databases(trial: Trial, service: str, held: ExitStack) -> None:
    """Hold the write lock of every epoch's database of a service."""
    for episode in (trial.deployment.data / service / "episodes").glob("*"):
        for path in epoch_files(episode).values():
            with suppress(sqlite3.OperationalError):  # the database was removed by a restore, or its lock is held
                # closed last, because a read-only connection keeps SQLite from checkpointing the log
                reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
                held.enter_context(closing(reader)).execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
                lock = sqlite3.connect(path, isolation_level=None, timeout=LOCK_TIMEOUT_S, check_same_thread=False)
                held.enter_context(closing(lock)).execute("BEGIN IMMEDIATE")


CELLS = [
    Cell(
        f"embedded: a service parked on a lock continues after its successor, in mid {work}",
        partial(continue_after_successor, work=work),
        full=30,
        deployment=EmbeddedDeployment,
    )
    for work in ("step", "restore")
]
