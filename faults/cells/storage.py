"""Disks that are full or read-only, and descriptors that are gone."""

from __future__ import annotations

import asyncio
import resource
from functools import partial

from faults.cells.work import during
from faults.house import GATEWAY, PROCESSES, SERVICES
from faults.small_disks import SmallDisks, cannot_mount
from faults.trial import Build, Cell, Trial

FULL_S = (0.1, 0.6)
READ_ONLY_S = 1.0
STARVED_S = (0.2, 0.8)


async def full_disk(trial: Trial, *, victim: str, work: str) -> None:
    """Fill the disk of a process in the middle of work and empty it again."""
    disks = trial.house
    assert isinstance(disks, SmallDisks)
    trial.outlasts = victim != GATEWAY

    async def strike() -> None:
        await trial.mid_work()
        disks.fill(victim)
        try:
            await asyncio.sleep(trial.chance.uniform(*FULL_S))
        finally:
            disks.empty(victim)

    await during(trial, work, strike)


async def read_only_disk(trial: Trial, *, victims: tuple[str, ...]) -> None:
    """Start a process on a disk that it cannot write to, then on the same disk as it was."""
    disks = trial.house
    assert isinstance(disks, SmallDisks)
    victim = trial.chance.choice(victims)
    trial.outlasts = True

    async def strike() -> None:
        await trial.mid_work()
        await disks.kill([victim])
        await disks.mount(victim, read_only=True)
        await disks.processes[victim].start()
        await asyncio.sleep(READ_ONLY_S)
        await disks.kill([victim])
        await disks.mount(victim, read_only=False)
        await disks.start_processes([victim])

    await during(trial, "step", strike)


async def no_descriptors(trial: Trial, *, victim: str) -> None:
    """Leave a process without a descriptor to open anything with, for a while."""
    process = trial.house.processes[victim]
    trial.outlasts = True

    async def strike() -> None:
        await trial.mid_work()
        before = process.limit(resource.RLIMIT_NOFILE, process.open_descriptors())
        try:
            await asyncio.sleep(trial.chance.uniform(*STARVED_S))
        finally:
            process.limit(resource.RLIMIT_NOFILE, before)

    await during(trial, "reset", strike)


CELLS = [
    *(
        Cell(
            f"disk of {victim} full in mid {work}",
            partial(full_disk, victim=victim, work=work),
            full=6,
            build=Build.SMALL_DISKS,
            not_run=cannot_mount,
        )
        for victim in PROCESSES
        for work in ("step", "reset", "snapshot", "restore")
    ),
    Cell(
        "disk of a service read-only",
        partial(read_only_disk, victims=SERVICES),
        full=6,
        build=Build.SMALL_DISKS,
        not_run=cannot_mount,
    ),
    Cell(
        "disk of the gateway read-only",
        partial(read_only_disk, victims=(GATEWAY,)),
        full=6,
        build=Build.SMALL_DISKS,
        not_run=cannot_mount,
    ),
    *(Cell(f"no descriptors left in {victim}", partial(no_descriptors, victim=victim), full=6) for victim in PROCESSES),
]
