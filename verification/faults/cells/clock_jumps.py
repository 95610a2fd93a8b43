"""Wall clock jumps; nothing in the product may depend on the wall clock."""

from __future__ import annotations

from functools import partial

from verification.faults.cells.workload import run_during
from verification.faults.deployment_kinds import SkewedClockDeployment, no_own_clock
from verification.faults.trial import Cell, DeploymentKind, Trial

YEARS_S = 10 * 365 * 86_400


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
    Cell(
        f"wall clock jumps in mid {work}",
        partial(jump, work=work),
        full=10,
        deployment_kind=DeploymentKind.OWN_CLOCK,
        not_run=no_own_clock,
    )
    for work in ("step", "restore")
]
