"""Death at named places: before and after each rename, each commit, each line of a journal, each answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from faults.cells.kills import come_back
from faults.cells.work import during
from faults.house import FAILPOINT, GATEWAY, SERVICES
from faults.process import DidNotStart
from faults.trial import Cell, Trial

LATEST_PASSING = 4
PATIENCE_S = 4.0
PATIENCE_WITH_A_START_S = 30.0

OF_THE_GATEWAY = {
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
"""Each place with the kinds of work that lead past it."""

OF_A_SERVICE = {
    "service.epoch.before": ("reset", "restore"),
    "service.epoch.after": ("reset", "restore"),
    "service.commit.before": ("step",),
    "service.commit.after": ("step",),
    "service.reply.before": ("step",),
    "service.snapshot.before": ("snapshot",),
    "service.snapshot.after": ("snapshot",),
}


OF_A_LEASE = ("service.lease.before", "service.lease.after")
"""Places that a service passes when a gateway starts and takes its lease."""


async def die_at(trial: Trial, *, victims: tuple[str, ...], place: str, work: str, insist: bool = True) -> None:
    """Arm the place in one of the victims, work until it dies there, and start it again without the place."""
    victim = trial.chance.choice(victims)
    process = trial.house.processes[victim]
    passing = f"{place}:{trial.chance.randint(1, LATEST_PASSING)}"

    async def arm() -> None:
        with suppress(DidNotStart):
            await trial.house.restart([victim], **{FAILPOINT: passing})

    async def strike() -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await process.wait_until_gone()
        except TimeoutError:
            trial.findings.unclear.append(f"{victim} never came past {place} in mid {work}")
        await come_back(trial, [victim])

    await during(trial, work, strike, arm=arm, insist=insist)


async def die_granting(trial: Trial, *, place: str) -> None:
    """Kill a service where it grants its lease to a gateway that starts again, and start it without the place."""
    victim, house = trial.chance.choice(SERVICES), trial.house

    async def arm() -> None:
        await house.restart([victim], **{FAILPOINT: place})

    async def strike() -> None:
        await trial.mid_work()
        await house.kill([GATEWAY])
        async with house.starting():
            await house.processes[GATEWAY].start()
            try:
                async with asyncio.timeout(PATIENCE_WITH_A_START_S):
                    await house.processes[victim].wait_until_gone()
            except TimeoutError:
                trial.findings.unclear.append(f"{victim} never came past {place}")
            await come_back(trial, [victim])
            await house.wait_until_ready([GATEWAY])

    await during(trial, "step", strike, arm=arm)


CELLS = [
    *(
        Cell(f"{place}, {work}", partial(die_at, victims=(GATEWAY,), place=place, work=work), full=6)
        for place, works in OF_THE_GATEWAY.items()
        for work in works
    ),
    *(
        Cell(
            f"{place}, nobody asks again",
            partial(die_at, victims=(GATEWAY,), place=place, work="step", insist=False),
            full=6,
        )
        for place, works in OF_THE_GATEWAY.items()
        if works == ("step",)
    ),
    *(
        Cell(f"{place}, {work}", partial(die_at, victims=SERVICES, place=place, work=work), full=6)
        for place, works in OF_A_SERVICE.items()
        for work in works
    ),
    *(Cell(f"{place}, gateway starts", partial(die_granting, place=place), full=6) for place in OF_A_LEASE),
]
