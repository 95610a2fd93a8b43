"""Processes that stand still and go on, are told to end, or find the files of an earlier life."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from typing import Any

from faults.cells.kills import IN_TIME_S
from faults.cells.work import during
from faults.house import GATEWAY, PROCESSES, SERVICES
from faults.trial import Cell, Trial
from faults.verdict import judge

DRAIN_S = 10.0
CLIENTS = 8
STILL_S = 1.5
NOTICED_S = 0.75
READS: dict[str, dict[str, Any]] = {
    "ticketdesk": {"tool_name": "ticketdesk_list_tickets", "arguments": {}},
    "datahub": {"tool_name": "datahub_list_metrics", "arguments": {}},
    "approvalflow": {"tool_name": "approvalflow_list_approvals", "arguments": {}},
}
PAST_A_CALL_S = (2.1, 3.0)
PAST_A_STEP_S = (5.5, 6.0)


async def stand_still(
    trial: Trial, *, victims: tuple[str, ...], seconds: tuple[float, float], outlasts: bool = False
) -> None:
    """Stop one of the victims with SIGSTOP for a while; what waited in its ears is delivered when it goes on."""
    trial.outlasts = outlasts
    process = trial.house.processes[trial.chance.choice(victims)]

    async def strike() -> None:
        await trial.mid_work()
        process.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(trial.chance.uniform(*seconds))
        finally:
            process.signal(signal.SIGCONT)

    await during(trial, "step", strike)


async def leave_the_neighbours_alone(trial: Trial) -> None:
    """Stop a service for as long as a call waits; whoever needs another service does not notice."""
    still, asked = trial.chance.sample(SERVICES, 2)
    process = trial.house.processes[still]
    clock = asyncio.get_running_loop().time

    async def neighbour(name: str) -> None:
        began = clock()
        await trial.house.door.ask("POST", "/step", {"episode_id": name, "action": READS[asked]})
        took_s = clock() - began
        if took_s > NOTICED_S:
            trial.findings.unclear.append(f"a step into {asked} took {took_s:.2f} s while {still} stood still")

    async def strike() -> None:
        neighbours = await trial.seated(4)
        process.signal(signal.SIGSTOP)
        try:
            give_up_at = clock() + STILL_S
            while clock() < give_up_at:
                await asyncio.gather(*(neighbour(player.name) for player in neighbours))
                await asyncio.sleep(0.01)
        finally:
            process.signal(signal.SIGCONT)
        for player in neighbours:
            await player.close()
            trial.players.remove(player)

    await during(trial, "step", strike)


async def terminate(trial: Trial, *, victim: str) -> None:
    """Send SIGTERM under the load of eight clients; the process has ten seconds, and loses nothing."""

    async def strike() -> None:
        await trial.mid_work()
        await end(trial, victim)

    await during(trial, "step", strike, players=CLIENTS)


async def end(trial: Trial, victim: str) -> None:
    """Send SIGTERM, give the process its ten seconds, and start it again."""
    process = trial.house.processes[victim]
    clock = asyncio.get_running_loop().time
    began = clock()
    process.signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait_until_gone(), DRAIN_S)
    except TimeoutError:
        trial.findings.unclear.append(f"{victim} still runs {DRAIN_S:.0f} s behind SIGTERM")
        await process.kill()
    await trial.house.start_processes([victim])
    trial.outlasts |= clock() - began > IN_TIME_S


async def start_on_old_files(trial: Trial, *, kindly: bool) -> None:
    """Take snapshots, end all four processes, start them all on their files, and play the forks of the snapshots."""
    await trial.seated(2, snapshot=True)
    if kindly:
        for name in PROCESSES:
            trial.house.processes[name].signal(signal.SIGTERM)
            await trial.house.processes[name].wait_until_gone()
    await trial.house.restart(PROCESSES)
    for player in list(trial.players):
        for snapshot in list(player.snapshots):
            for twin in await player.fork(snapshot, 2):
                for _ in range(4):
                    await twin.step()
                await judge(twin)
    await trial.judge()


CELLS = [
    Cell("SIGSTOP of a service", partial(stand_still, victims=SERVICES, seconds=(0.1, 1.0)), full=10),
    Cell(
        "SIGSTOP of a service past a call's deadline",
        partial(stand_still, victims=SERVICES, seconds=PAST_A_CALL_S),
        full=10,
    ),
    Cell(
        "SIGSTOP of a service past a step's deadline",
        partial(stand_still, victims=SERVICES, seconds=PAST_A_STEP_S, outlasts=True),
        full=5,
    ),
    Cell("SIGSTOP of the gateway", partial(stand_still, victims=(GATEWAY,), seconds=(0.1, 2.0)), full=10),
    Cell("SIGSTOP of a service, seen by the others", leave_the_neighbours_alone, full=10),
    *(Cell(f"SIGTERM of {name} under load", partial(terminate, victim=name), full=8) for name in PROCESSES),
    Cell("SIGTERM of all, start on old snapshots", partial(start_on_old_files, kindly=True), full=10),
    Cell("kill -9 of all, start on old snapshots", partial(start_on_old_files, kindly=False), full=10),
]
