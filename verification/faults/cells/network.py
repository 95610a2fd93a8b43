"""Network faults between gateway and service: slow, refused, reset, truncated, duplicated and late messages."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from verification.faults import proxy
from verification.faults.cells.workload import run_during
from verification.faults.deployment import SERVICES
from verification.faults.deployment_kinds import ProxiedDeployment
from verification.faults.proxy import Fault
from verification.faults.trial import Cell, Trial

STRIKE_TIMEOUT_S = 3.0
ALWAYS = 100_000
PAST_A_CALL_S = 2.5
"""Longer than the timeout of a call (2 s)."""

PAST_A_STEP_S = 6.0
"""Longer than the timeout of a step (5 s)."""


async def strike_calls(
    trial: Trial, *, fault: Fault, work: str = "step", times: int = 3, exceeds_deadline: bool = False
) -> None:
    """Apply the fault to calls of one service during work, then remove it."""
    trial.exceeds_deadline = exceeds_deadline
    service_proxy = trial.deployment.proxies[trial.rng.choice(SERVICES)]

    async def strike() -> None:
        await trial.wait_for_random_moment()
        service_proxy.arm(fault, times=times)
        with suppress(TimeoutError):
            await asyncio.wait_for(
                service_proxy.exhausted.wait(), PAST_A_STEP_S if exceeds_deadline else STRIKE_TIMEOUT_S
            )
        service_proxy.arm(None)
        await service_proxy.wait_for_background()

    await run_during(trial, work, strike)
    if work == "step" and not exceeds_deadline and not service_proxy.strikes:
        trial.findings.unclear.append("the fault was never applied")


async def refuse_connections(trial: Trial, *, seconds: tuple[float, float], exceeds_deadline: bool = False) -> None:
    """Refuse all connections to one service for a while."""
    trial.exceeds_deadline = exceeds_deadline
    service_proxy = trial.deployment.proxies[trial.rng.choice(SERVICES)]

    async def strike() -> None:
        await trial.wait_for_random_moment()
        await service_proxy.refuse()
        await asyncio.sleep(trial.rng.uniform(*seconds))
        await service_proxy.listen()

    await run_during(trial, "step", strike)


async def deliver_after_end(trial: Trial) -> None:
    """Deliver a call again after its episode was freed; it must not recreate anything."""
    service = trial.rng.choice(SERVICES)
    (player,) = await trial.open_players(1)
    folder = (await trial.deployment.client.request("GET", f"/v1/episodes/{player.name}/evidence")).body["folder"]
    service_proxy = trial.deployment.proxies[service]
    service_proxy.arm(proxy.delivered_again_late(0.4), times=2)
    for _ in range(6):
        await player.step()
    service_proxy.arm(None)
    await player.close()
    await service_proxy.wait_for_background()
    left = sorted((trial.deployment.data / service / "episodes" / folder).glob("*"))
    if left:
        trial.findings.torn.append(f"{player.name}, {service}: a late call recreated {left}")


def _cell(
    name: str, fault: Fault, *, full: int = 8, work: str = "step", times: int = 3, exceeds_deadline: bool = False
) -> Cell:
    run = partial(strike_calls, fault=fault, work=work, times=times, exceeds_deadline=exceeds_deadline)
    return Cell(name, run, full=full, deployment=ProxiedDeployment)


CELLS = [
    _cell("service 2x slower", proxy.slower(2.0), times=30),
    _cell("service 10x slower", proxy.slower(10.0), times=30),
    _cell("service past a call's deadline", proxy.delayed(PAST_A_CALL_S), times=1, full=5),
    _cell("service past a step's deadline", proxy.delayed(PAST_A_STEP_S), times=ALWAYS, exceeds_deadline=True, full=5),
    Cell("refused", partial(refuse_connections, seconds=(0.1, 1.5)), full=10, deployment=ProxiedDeployment),
    Cell(
        "refused past a step's deadline",
        partial(refuse_connections, seconds=(PAST_A_STEP_S, PAST_A_STEP_S), exceeds_deadline=True),
        full=5,
        deployment=ProxiedDeployment,
    ),
    *(
        _cell(f"{name}, {work}", fault, work=work, full=8 if work == "step" else 5)
        for name, fault in {
            "reset before the call": proxy.reset_before,
            "reset after the call": proxy.reset_after,
            "empty response": proxy.empty_response,
            "half a response": proxy.truncated,
        }.items()
        for work in ("step", "reset", "snapshot", "restore")
    ),
    _cell("response head without a body", proxy.head_only),
    _cell("response in pieces", proxy.dribbled(20, 0.01), times=4),
    _cell("response in pieces past a call's deadline", proxy.dribbled(30, 0.1), times=1, full=5),
    _cell("call delivered twice", proxy.duplicated, times=10),
    _cell("call delivered twice, restore", proxy.duplicated, times=10, work="restore"),
    _cell("call delivered late", proxy.delivered_late(0.3), times=3),
    _cell("call delivered again, late", proxy.delivered_again_late(0.2), times=10),
    _cell("call delivered again after a restore", proxy.delivered_again_late(0.05), times=10, work="restore"),
    Cell("call delivered again after the end", deliver_after_end, full=10, deployment=ProxiedDeployment),
]
