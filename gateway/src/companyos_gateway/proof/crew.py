"""The crew: processes with a house of their own each, which take jobs until none is left."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import queue
import signal
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

from companyos_gateway.proof.rows import ROWS
from companyos_gateway.proof.rows.row import TROUBLE, Job, Tally
from companyos_gateway.server.house import House
from companyos_gateway.settings import Settings

POLL_S = 1.0
GOING_S = 10.0
START_S = 120.0
"""How long a house may take to open where the machine is busy."""


class CrewLost(RuntimeError):
    """Raised where a process of the crew has ended before its work was done."""


def done_by_crew(jobs: Sequence[Job], processes: int) -> Iterator[tuple[Job, list[Tally]]]:
    """Yield every job with what it counted, as they are done, the heavy ones first. Raises CrewLost."""
    context = multiprocessing.get_context("spawn")
    todo: Any = context.Queue()
    done: Any = context.Queue()
    crew = [context.Process(target=_serve, args=(todo, done)) for _ in range(min(processes, len(jobs)))]
    for job in sorted(jobs, key=lambda job: -job.weight):
        todo.put(job)
    for one in crew:
        todo.put(None)
        one.start()
    try:
        for _ in jobs:
            yield _next(done, crew)
        for one in crew:
            one.join(GOING_S)
    finally:
        for one in crew:
            if one.is_alive():
                one.kill()  # its services end with it
                one.join()
        todo.cancel_join_thread()


def _next(done: Any, crew: Sequence[BaseProcess]) -> tuple[Job, list[Tally]]:
    while True:
        try:
            job, tallies = done.get(timeout=POLL_S)
        except queue.Empty:
            lost = [one.exitcode for one in crew if one.exitcode]
            if lost:
                raise CrewLost(f"a process of the crew ended with status {lost[0]}") from None
            continue
        return job, tallies


def _serve(todo: Any, done: Any) -> None:
    """Be one of the crew. Ctrl-C is for the process that the crew belongs to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.ERROR)
    asyncio.run(_take_jobs(todo, done))


async def _take_jobs(todo: Any, done: Any) -> None:
    house = House(Settings(start_timeout_s=START_S))
    async with house.running():
        stage = house.stage()
        while (job := _next_job(todo)) is not None:
            try:
                tallies = await ROWS[job.row].work(stage, job)
            except Exception:  # noqa: BLE001  # a job that breaks is told, and is no reason to lose the others
                said = traceback.format_exc().strip().replace("\n", " | ")[-600:]
                tallies = [Tally(promise=TROUBLE, n=1, scenario=job.scenario, faults=(f"{job.place}: {said}",))]
            done.put((job, tallies))


def _next_job(todo: Any) -> Job | None:
    """Return the next job; None where there is none any more, or nobody who waits for it."""
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        try:
            job: Job | None = todo.get(timeout=POLL_S)
        except queue.Empty:
            continue
        return job
    return None
