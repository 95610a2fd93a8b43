"""Embedded services and workers: a child that dies is restarted, and children end with their parent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from verification.faults.cells.kills import IN_TIME_S, kill_during
from verification.faults.cells.signals import terminate
from verification.faults.cells.workload import run_during
from verification.faults.deployment import GATEWAY, SERVICES
from verification.faults.deployment_kinds import EmbeddedDeployment, WorkersDeployment
from verification.faults.trial import Cell, Trial

PAUSE_S = 0.1
"""Time in which the gateway or the router detects that a child died, in seconds."""

WORKERS = ("1", "2")
"""The numbers of the workers."""


async def kill_child(trial: Trial, *, work: str, children: Sequence[str] = SERVICES) -> None:
    """Kill a service that the gateway started, or a worker that the router started; it must be restarted."""
    deployment = trial.deployment
    assert isinstance(deployment, EmbeddedDeployment)
    victim = trial.rng.choice(children)

    async def strike() -> None:
        await trial.wait_for_random_moment()
        clock = asyncio.get_running_loop().time
        began = clock()
        async with deployment.starting():
            if not deployment.kill_child(victim):
                trial.findings.unclear.append(f"there is no child process {victim}")
            await asyncio.sleep(PAUSE_S)
            await deployment.wait_until_ready([GATEWAY])
        trial.exceeds_deadline |= clock() - began > IN_TIME_S

    await run_during(trial, work, strike)


CELLS = [
    *(
        Cell(
            f"embedded: kill -9 of a child in mid {work}",
            partial(kill_child, work=work),
            deployment=EmbeddedDeployment,
        )
        for work in ("step", "snapshot")
    ),
    *(
        Cell(
            f"embedded: kill -9 of the gateway in mid {work}",
            partial(kill_during, victims=(GATEWAY,), work=work),
            deployment=EmbeddedDeployment,
        )
        for work in ("step", "restore")
    ),
    Cell("embedded: SIGTERM under load", partial(terminate, victim=GATEWAY), deployment=EmbeddedDeployment),
    *(
        Cell(
            f"workers: kill -9 of a worker in mid {work}",
            partial(kill_child, work=work, children=WORKERS),
            deployment=WorkersDeployment,
        )
        for work in ("step", "snapshot", "fork")
    ),
    Cell(
        "workers: kill -9 of the router in mid step",
        partial(kill_during, victims=(GATEWAY,), work="step"),
        deployment=WorkersDeployment,
    ),
    Cell("workers: SIGTERM under load", partial(terminate, victim=GATEWAY), deployment=WorkersDeployment),
]
