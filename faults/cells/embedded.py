"""The enterprise of one command: a child that dies is started again, a parent that dies takes everybody along."""

from __future__ import annotations

import asyncio
from functools import partial

from faults.cells.kills import IN_TIME_S, come_back
from faults.cells.stops import end
from faults.cells.work import during
from faults.embedded import EmbeddedHouse
from faults.house import GATEWAY, SERVICES
from faults.trial import Build, Cell, Trial

PAUSE_S = 0.1
"""So long after a death the gateway has noticed it."""


async def kill_child(trial: Trial, *, work: str) -> None:
    """Kill a service that the gateway started; it is back by itself."""
    house = trial.house
    assert isinstance(house, EmbeddedHouse)
    victim = trial.chance.choice(SERVICES)

    async def strike() -> None:
        await trial.mid_work()
        clock = asyncio.get_running_loop().time
        began = clock()
        async with house.starting():
            if not house.kill_child(victim):
                trial.findings.unclear.append(f"the gateway has no child {victim}")
            await asyncio.sleep(PAUSE_S)
            await house.wait_until_ready([GATEWAY])
        trial.outlasts |= clock() - began > IN_TIME_S

    await during(trial, work, strike)


async def kill_parent(trial: Trial, *, work: str) -> None:
    """Kill the gateway; its services end with it, and it starts others on the same files."""

    async def strike() -> None:
        await trial.mid_work()
        await come_back(trial, [GATEWAY])

    await during(trial, work, strike)


async def terminate(trial: Trial) -> None:
    """Send SIGTERM under load and start again."""

    async def strike() -> None:
        await trial.mid_work()
        await end(trial, GATEWAY)

    await during(trial, "step", strike, players=8)


CELLS = [
    *(
        Cell(f"embedded: kill -9 of a child in mid {work}", partial(kill_child, work=work), build=Build.EMBEDDED)
        for work in ("step", "snapshot")
    ),
    *(
        Cell(f"embedded: kill -9 of the gateway in mid {work}", partial(kill_parent, work=work), build=Build.EMBEDDED)
        for work in ("step", "restore")
    ),
    Cell("embedded: SIGTERM under load", terminate, build=Build.EMBEDDED),
]
