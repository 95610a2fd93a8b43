"""Process death at fail-points: before and after each rename, commit, journal line and response."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from verification.faults.cells.kills import restart_victims
from verification.faults.cells.workload import run_during
from verification.faults.deployment import FAILPOINT, GATEWAY, SERVICES
from verification.faults.server_process import ServerStartError
from verification.faults.trial import Cell, Trial

LATEST_PASSING = 4
PATIENCE_S = 4.0
PATIENCE_WITH_A_START_S = 30.0

GATEWAY_FAILPOINTS = {
    "gateway.intent.after": ("step",),
    "gateway.sent.after": ("step",),
    "gateway.header.before": ("step",),
    "gateway.outcome.before": ("step",),
    "gateway.outcome.after": ("step",),
    "gateway.manifest.before": ("reset", "restore", "fork"),
    "gateway.manifest.after": ("reset", "restore", "fork"),
    "gateway.snapshot.before": ("snapshot",),
    "gateway.snapshot.after": ("snapshot",),
}
"""Each fail-point with the workloads that pass it."""

SERVICE_FAILPOINTS = {
    "service.epoch.before": ("reset", "restore"),
    "service.epoch.after": ("reset", "restore"),
    "service.commit.before": ("step",),
    "service.commit.after": ("step",),
    "service.reply.before": ("step",),
    "service.snapshot.before": ("snapshot",),
    "service.snapshot.after": ("snapshot",),
}


LEASE_FAILPOINTS = ("service.lease.before", "service.lease.after")
"""Fail-points that a service passes when it grants a lease to a starting gateway."""


async def die_at(trial: Trial, *, victims: tuple[str, ...], place: str, work: str, retry: bool = True) -> None:
    """Arm the fail-point in one victim, run the workload until it dies there, and restart it without the fail-point."""
    victim = trial.rng.choice(victims)
    process = trial.deployment.processes[victim]
    passing = f"{place}:{trial.rng.randint(1, LATEST_PASSING)}"

    async def arm() -> None:
        with suppress(ServerStartError):
            await trial.deployment.restart([victim], **{FAILPOINT: passing})

    async def strike() -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await process.wait_until_exited()
        except TimeoutError:
            trial.findings.unclear.append(f"{victim} never reached {place} in mid {work}")
        await restart_victims(trial, [victim])

    await run_during(trial, work, strike, arm=arm, retry=retry)


async def die_granting(trial: Trial, *, place: str) -> None:
    """Kill a service while it grants a lease to a restarting gateway, and start it without the fail-point."""
    victim, deployment = trial.rng.choice(SERVICES), trial.deployment

    async def arm() -> None:
        await deployment.restart([victim], **{FAILPOINT: place})

    async def strike() -> None:
        await trial.wait_for_random_moment()
        await deployment.kill([GATEWAY])
        async with deployment.starting():
            await deployment.processes[GATEWAY].start()
            try:
                async with asyncio.timeout(PATIENCE_WITH_A_START_S):
                    await deployment.processes[victim].wait_until_exited()
            except TimeoutError:
                trial.findings.unclear.append(f"{victim} never reached {place}")
            await restart_victims(trial, [victim])
            await deployment.wait_until_ready([GATEWAY])

    await run_during(trial, "step", strike, arm=arm)


CELLS = [
    *(
        Cell(f"{place}, {work}", partial(die_at, victims=(GATEWAY,), place=place, work=work), full=6)
        for place, works in GATEWAY_FAILPOINTS.items()
        for work in works
    ),
    *(
        Cell(
            f"{place}, no retry",
            partial(die_at, victims=(GATEWAY,), place=place, work="step", retry=False),
            full=6,
        )
        for place, works in GATEWAY_FAILPOINTS.items()
        if works == ("step",)
    ),
    *(
        Cell(f"{place}, {work}", partial(die_at, victims=SERVICES, place=place, work=work), full=6)
        for place, works in SERVICE_FAILPOINTS.items()
        for work in works
    ),
    *(Cell(f"{place}, gateway starts", partial(die_granting, place=place), full=6) for place in LEASE_FAILPOINTS),
]
