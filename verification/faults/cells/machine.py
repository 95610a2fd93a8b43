"""Full disks, read-only disks, exhausted file descriptors and jumps of the wall clock."""

from __future__ import annotations

import asyncio
import resource
from functools import partial

from verification.faults.cells.workload import run_during
from verification.faults.deployment import GATEWAY, PROCESSES, SERVICES
from verification.faults.deployment_kinds import SkewedClockDeployment, SmallDiskDeployment
from verification.faults.trial import Cell, Trial

FULL_S = (0.1, 0.6)
READ_ONLY_S = 1.0
STARVED_S = (0.2, 0.8)
YEARS_S = 10 * 365 * 86_400


async def full_disk(trial: Trial, *, victim: str, work: str) -> None:
    """Fill a process's disk during work and empty it again."""
    deployment = trial.deployment
    assert isinstance(deployment, SmallDiskDeployment)
    trial.exceeds_deadline = victim != GATEWAY

    async def strike() -> None:
        await trial.wait_for_random_moment()
        deployment.fill(victim)
        try:
            await asyncio.sleep(trial.rng.uniform(*FULL_S))
        finally:
            deployment.empty(victim)

    await run_during(trial, work, strike)


async def read_only_disk(trial: Trial, *, victims: tuple[str, ...]) -> None:
    """Start a process on a read-only disk, then on the writable one."""
    deployment = trial.deployment
    assert isinstance(deployment, SmallDiskDeployment)
    victim = trial.rng.choice(victims)
    trial.exceeds_deadline = True

    async def strike() -> None:
        await trial.wait_for_random_moment()
        await deployment.kill([victim])
        await deployment.mount(victim, read_only=True)
        await deployment.processes[victim].start()
        await asyncio.sleep(READ_ONLY_S)
        await deployment.kill([victim])
        await deployment.mount(victim, read_only=False)
        await deployment.start_processes([victim])

    await run_during(trial, "step", strike)


async def no_descriptors(trial: Trial, *, victim: str) -> None:
    """Leave a process without free file descriptors for a while."""
    process = trial.deployment.processes[victim]
    trial.exceeds_deadline = True

    async def strike() -> None:
        await trial.wait_for_random_moment()
        before = process.limit(resource.RLIMIT_NOFILE, process.open_descriptors())
        try:
            await asyncio.sleep(trial.rng.uniform(*STARVED_S))
        finally:
            process.limit(resource.RLIMIT_NOFILE, before)

    await run_during(trial, "reset", strike)


async def jump(trial: Trial, *, work: str) -> None:
    """Set the wall clock of all processes years ahead, years back, and back to normal."""
    deployment = trial.deployment
    assert isinstance(deployment, SkewedClockDeployment)

    async def strike() -> None:
        for _ in range(3):
            await trial.wait_for_random_moment()
            deployment.set_clock(trial.rng.randint(-YEARS_S, YEARS_S))
        await trial.wait_for_random_moment()
        deployment.set_clock(0)

    await run_during(trial, work, strike)


CELLS = [
    *(
        Cell(
            f"disk of {victim} full in mid {work}",
            partial(full_disk, victim=victim, work=work),
            full=6,
            deployment=SmallDiskDeployment,
        )
        for victim in PROCESSES
        for work in ("step", "reset", "snapshot", "restore")
    ),
    Cell(
        "disk of a service read-only",
        partial(read_only_disk, victims=SERVICES),
        full=6,
        deployment=SmallDiskDeployment,
    ),
    Cell(
        "disk of the gateway read-only",
        partial(read_only_disk, victims=(GATEWAY,)),
        full=6,
        deployment=SmallDiskDeployment,
    ),
    *(Cell(f"no descriptors left in {victim}", partial(no_descriptors, victim=victim), full=6) for victim in PROCESSES),
    *(
        Cell(
            f"wall clock jumps in mid {work}",
            partial(jump, work=work),
            full=10,
            deployment=SkewedClockDeployment,
        )
        for work in ("step", "restore")
    ),
]
