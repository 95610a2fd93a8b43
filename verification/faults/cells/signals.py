"""Processes that are paused or terminated, or start on existing files."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from typing import Any

from verification.faults.cells.kills import IN_TIME_S
from verification.faults.cells.workload import run_during
from verification.faults.deployment import GATEWAY, PROCESSES, SERVICES
from verification.faults.trial import Cell, Trial
from verification.faults.verdict import judge

DRAIN_S = 10.0
CLIENTS = 8
PAUSE_DURATION_S = 1.5
MAX_STEP_S = 0.75
READS: dict[str, dict[str, Any]] = {
    "ticketdesk": {"tool_name": "ticketdesk_list_tickets", "arguments": {}},
    "datahub": {"tool_name": "datahub_list_metrics", "arguments": {}},
    "approvalflow": {"tool_name": "approvalflow_list_approvals", "arguments": {}},
}
PAST_A_CALL_S = (2.1, 3.0)
PAST_A_STEP_S = (5.5, 6.0)


async def pause_process(
    trial: Trial, *, victims: tuple[str, ...], seconds: tuple[float, float], exceeds_deadline: bool = False
) -> None:
    """Pause one victim with SIGSTOP; buffered requests are delivered when it continues."""
    trial.exceeds_deadline = exceeds_deadline
    process = trial.deployment.processes[trial.rng.choice(victims)]

    async def strike() -> None:
        await trial.wait_for_random_moment()
        process.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(trial.rng.uniform(*seconds))
        finally:
            process.signal(signal.SIGCONT)

    await run_during(trial, "step", strike)


async def check_other_services(trial: Trial) -> None:
    """Pause a service for a call's deadline; calls to other services must not be delayed."""
    paused, called = trial.rng.sample(SERVICES, 2)
    process = trial.deployment.processes[paused]
    clock = asyncio.get_running_loop().time

    async def step_into(name: str) -> None:
        began = clock()
        await trial.deployment.client.request("POST", "/step", {"episode_id": name, "action": READS[called]})
        took_s = clock() - began
        if took_s > MAX_STEP_S:
            trial.findings.unclear.append(f"a step into {called} took {took_s:.2f} s while {paused} was paused")

    async def strike() -> None:
        others = await trial.open_players(4)
        process.signal(signal.SIGSTOP)
        try:
            give_up_at = clock() + PAUSE_DURATION_S
            while clock() < give_up_at:
                await asyncio.gather(*(step_into(player.name) for player in others))
                await asyncio.sleep(0.01)
        finally:
            process.signal(signal.SIGCONT)
        for player in others:
            await player.close()
            trial.players.remove(player)

    await run_during(trial, "step", strike)


async def terminate(trial: Trial, *, victim: str) -> None:
    """Send SIGTERM under the load of eight clients; the process must exit within ten seconds and lose nothing."""
    process = trial.deployment.processes[victim]
    clock = asyncio.get_running_loop().time

    async def strike() -> None:
        await trial.wait_for_random_moment()
        began = clock()
        process.signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait_until_exited(), DRAIN_S)
        except TimeoutError:
            trial.findings.unclear.append(f"{victim} still runs {DRAIN_S:.0f} s after SIGTERM")
            await process.kill()
        await trial.deployment.start_processes([victim])
        trial.exceeds_deadline |= clock() - began > IN_TIME_S

    await run_during(trial, "step", strike, players=CLIENTS)


async def start_on_old_files(trial: Trial, *, gracefully: bool) -> None:
    """Take snapshots, end all four processes, restart them on their files, and play forks of the snapshots."""
    await trial.open_players(2, snapshot=True)
    if gracefully:
        for name in PROCESSES:
            trial.deployment.processes[name].signal(signal.SIGTERM)
            await trial.deployment.processes[name].wait_until_exited()
    await trial.deployment.restart(PROCESSES)
    for player in list(trial.players):
        for snapshot in list(player.snapshots):
            for forked_player in await player.fork(snapshot, 2):
                for _ in range(4):
                    await forked_player.step()
                await judge(forked_player)
    await trial.judge()


CELLS = [
    Cell("SIGSTOP of a service", partial(pause_process, victims=SERVICES, seconds=(0.1, 1.0)), full=10),
    Cell(
        "SIGSTOP of a service past a call's deadline",
        partial(pause_process, victims=SERVICES, seconds=PAST_A_CALL_S),
        full=10,
    ),
    Cell(
        "SIGSTOP of a service past a step's deadline",
        partial(pause_process, victims=SERVICES, seconds=PAST_A_STEP_S, exceeds_deadline=True),
        full=5,
    ),
    Cell("SIGSTOP of the gateway", partial(pause_process, victims=(GATEWAY,), seconds=(0.1, 2.0)), full=10),
    Cell("SIGSTOP of a service, seen by the others", check_other_services, full=10),
    *(Cell(f"SIGTERM of {name} under load", partial(terminate, victim=name), full=8) for name in PROCESSES),
    Cell("SIGTERM of all, start on old snapshots", partial(start_on_old_files, gracefully=True), full=10),
    Cell("kill -9 of all, start on old snapshots", partial(start_on_old_files, gracefully=False), full=10),
]
