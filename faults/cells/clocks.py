"""A wall clock that jumps: nothing of the house goes by it."""

from __future__ import annotations

from functools import partial

from faults.cells.work import during
from faults.clock import ClockHouse, no_own_clock
from faults.trial import Build, Cell, Trial

YEARS_S = 10 * 365 * 86_400


async def jump(trial: Trial, *, work: str) -> None:
    """Set the wall clock of all processes years ahead, years back, and back to what it was."""
    house = trial.house
    assert isinstance(house, ClockHouse)

    async def strike() -> None:
        for _ in range(3):
            await trial.mid_work()
            house.set_clock(trial.chance.randint(-YEARS_S, YEARS_S))
        await trial.mid_work()
        house.set_clock(0)

    await during(trial, work, strike)


CELLS = [
    Cell(
        f"wall clock jumps in mid {work}",
        partial(jump, work=work),
        full=10,
        build=Build.OWN_CLOCK,
        not_run=no_own_clock,
    )
    for work in ("step", "restore")
]
