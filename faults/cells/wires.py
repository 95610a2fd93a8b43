"""What networks do between the gateway and a service: slowness, refusals, resets, halves, doubles, lateness."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from faults import proxy
from faults.cells.work import during
from faults.house import SERVICES
from faults.proxy import Fault
from faults.trial import Build, Cell, Trial

PATIENCE_S = 3.0
ALWAYS = 100_000
PAST_A_CALL_S = 2.5
"""A call waits two seconds for its answer."""

PAST_A_STEP_S = 6.0
"""A step takes five seconds at most."""


async def strike_calls(
    trial: Trial, *, fault: Fault, work: str = "step", times: int = 3, outlasts: bool = False
) -> None:
    """Let the fault strike calls to one service in the middle of work, then everything pass again."""
    trial.outlasts = outlasts
    struck = trial.house.proxies[trial.chance.choice(SERVICES)]

    async def strike() -> None:
        await trial.mid_work()
        struck.arm(fault, times=times)
        with suppress(TimeoutError):
            await asyncio.wait_for(struck.spent.wait(), PAST_A_STEP_S if outlasts else PATIENCE_S)
        struck.arm(None)
        await struck.settled()
        trial.findings.felt["struck"] += struck.struck

    await during(trial, work, strike)
    if work == "step" and not outlasts and not struck.struck:
        trial.findings.unclear.append("the fault never struck")


async def refuse_connections(trial: Trial, *, seconds: tuple[float, float], outlasts: bool = False) -> None:
    """Refuse every connection to one service for a while."""
    trial.outlasts = outlasts
    closed = trial.house.proxies[trial.chance.choice(SERVICES)]

    async def strike() -> None:
        await trial.mid_work()
        await closed.refuse()
        await asyncio.sleep(trial.chance.uniform(*seconds))
        await closed.listen()

    await during(trial, "step", strike)


async def deliver_behind_the_end(trial: Trial) -> None:
    """Deliver a call once more when its episode has been freed; nothing of it may come back."""
    service = trial.chance.choice(SERVICES)
    (player,) = await trial.seated(1)
    folder = (await trial.house.door.ask("GET", f"/v1/episodes/{player.name}/evidence")).body["folder"]
    wire = trial.house.proxies[service]
    wire.arm(proxy.late_twin(0.4), times=2)
    for _ in range(6):
        await player.step()
    wire.arm(None)
    await player.close()
    await wire.settled()
    left = sorted((trial.house.data / service / "episodes" / folder).glob("*"))
    if left:
        trial.findings.torn.append(f"{player.name}, {service}: a late call brought back {left}")


def _cell(
    name: str, fault: Fault, *, full: int = 8, work: str = "step", times: int = 3, outlasts: bool = False
) -> Cell:
    run = partial(strike_calls, fault=fault, work=work, times=times, outlasts=outlasts)
    return Cell(name, run, full=full, build=Build.PROXIED)


CELLS = [
    _cell("service 2x slower", proxy.slower(2.0), times=30),
    _cell("service 10x slower", proxy.slower(10.0), times=30),
    _cell("service past a call's deadline", proxy.held_back(PAST_A_CALL_S), times=1, full=5),
    _cell("service past a step's deadline", proxy.held_back(PAST_A_STEP_S), times=ALWAYS, outlasts=True, full=5),
    Cell("refused", partial(refuse_connections, seconds=(0.1, 1.5)), full=10, build=Build.PROXIED),
    Cell(
        "refused past a step's deadline",
        partial(refuse_connections, seconds=(PAST_A_STEP_S, PAST_A_STEP_S), outlasts=True),
        full=5,
        build=Build.PROXIED,
    ),
    *(
        _cell(f"{name}, {work}", fault, work=work, full=8 if work == "step" else 5)
        for name, fault in {
            "reset before the call": proxy.reset_before,
            "reset after the call": proxy.reset_after,
            "empty answer": proxy.empty,
            "half an answer": proxy.half,
        }.items()
        for work in ("step", "reset", "snapshot", "restore")
    ),
    _cell("a head without a body", proxy.headless),
    _cell("dribbled answer", proxy.dribbled(20, 0.01), times=4),
    _cell("answer dribbled past a call's deadline", proxy.dribbled(30, 0.1), times=1, full=5),
    _cell("call delivered twice", proxy.duplicated, times=10),
    _cell("call delivered twice, restore", proxy.duplicated, times=10, work="restore"),
    _cell("call delivered late", proxy.late(0.3), times=3),
    _cell("call delivered again, late", proxy.late_twin(0.2), times=10),
    _cell("call delivered again behind a restore", proxy.late_twin(0.05), times=10, work="restore"),
    Cell("call delivered again behind the end", deliver_behind_the_end, full=10, build=Build.PROXIED),
]
