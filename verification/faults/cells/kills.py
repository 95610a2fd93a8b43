"""SIGKILL during work: each process alone, some together, and all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from verification.faults.cells.workload import run_during
from verification.faults.deployment import GATEWAY, PROCESSES, SERVICES
from verification.faults.trial import Cell, Trial

WHILE_STARTING_S = (0.2, 2.0)
IN_TIME_S = 3.0
"""A service that restarts within this time can still process every waiting step, in seconds."""

TOGETHER = (
    ("ticketdesk", "datahub"),
    ("datahub", "approvalflow"),
    (GATEWAY, "ticketdesk"),
    (GATEWAY, "approvalflow"),
    SERVICES,
    PROCESSES,
)


async def kill_during(trial: Trial, *, victims: tuple[str, ...], work: str, retry: bool = True) -> None:
    """Kill the victims at a random moment and restart them.

    Children of a killed gateway or router must end with it, and a new one starts others on the same files.
    """

    async def strike() -> None:
        await trial.wait_for_random_moment()
        await restart_victims(trial, victims)

    await run_during(trial, work, strike, retry=retry)


async def kill_while_starting(trial: Trial, *, again: str) -> None:
    """Kill the gateway, and one process again while the gateway recovers its episodes."""

    async def strike() -> None:
        await trial.wait_for_random_moment()
        deployment = trial.deployment
        await deployment.kill([GATEWAY])
        async with deployment.starting():
            await deployment.processes[GATEWAY].start()
            await asyncio.sleep(trial.rng.uniform(*WHILE_STARTING_S))
            await restart_victims(trial, [again])
            await deployment.wait_until_ready([GATEWAY])

    await run_during(trial, "step", strike)


async def restart_victims(trial: Trial, victims: Sequence[str]) -> None:
    """Kill and restart the victims. If the restart is slow, allow episodes to end as infra_error."""
    clock = asyncio.get_running_loop().time
    began = clock()
    await trial.deployment.restart(victims)
    trial.exceeds_deadline |= clock() - began > IN_TIME_S


CELLS = [
    *(
        Cell(f"kill -9 {victim} in mid {work}", partial(kill_during, victims=(victim,), work=work), full=full)
        for work, full in {"step": 20, "reset": 12, "snapshot": 12, "restore": 12, "fork": 6}.items()
        for victim in PROCESSES
    ),
    Cell(
        "kill -9 gateway in mid step, no retry",
        partial(kill_during, victims=(GATEWAY,), work="step", retry=False),
        full=20,
    ),
    Cell("kill -9 gateway, and again while it starts", partial(kill_while_starting, again=GATEWAY), full=8),
    *(
        Cell(f"kill -9 gateway, and {name} while it starts", partial(kill_while_starting, again=name), full=5)
        for name in SERVICES
    ),
    *(
        Cell(f"kill -9 {' + '.join(victims)} at once", partial(kill_during, victims=victims, work="step"), full=8)
        for victims in TOGETHER
    ),
]
