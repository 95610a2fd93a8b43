"""Runs the jobs of rows in worker processes, each with its own gateway and services, and summarizes their tallies."""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import queue
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

from companyos_shared.temporary_folders import temporary_data_folder
from verification.git import commit
from verification.in_process import in_process_runtime
from verification.proof.rows import ROWS, Job, Line, Scope, Tally
from verification.proof.rows.base import JOB_FAILED
from verification.proof.worklog import WorkLog

POLL_S = 1.0
JOIN_TIMEOUT_S = 10.0
_GC_THRESHOLDS = (50_000, 20, 100)
"""Higher than CPython's defaults, because jobs create few reference cycles."""


class WorkerLostError(RuntimeError):
    """Raised if a worker process exits before all jobs are done."""


def run_jobs(jobs: Sequence[Job], processes: int, log: WorkLog | None = None) -> dict[str, list[Tally]]:
    """Run the jobs and return their tallies by row, in job order; finished jobs in the work log are not repeated.

    Shows the progress on a terminal. Raises WorkerLostError.
    """
    found: dict[Job, list[Tally]] = log.found(jobs) if log is not None else {}
    todo = [job for job in jobs if job not in found]
    code = commit() if log is not None else ""
    last = started = time.monotonic()
    for done, (job, tallies) in enumerate(run_in_pool(todo, processes), start=len(found) + 1):
        found[job] = tallies
        if log is not None and all(tally.promise != JOB_FAILED for tally in tallies):
            log.write(job, tallies, seconds=time.monotonic() - last, commit=code)
        last = time.monotonic()
        faults = sum(len(item.faults) for each in found.values() for item in each)
        minutes, seconds = divmod(int(time.monotonic() - started), 60)
        _show(f"{done}/{len(jobs)} jobs, {minutes}:{seconds:02}, {faults} violations, last {job.place}")
    _show("")
    by_row: dict[str, list[Tally]] = {}
    for job in jobs:
        by_row.setdefault(job.row, []).extend(found[job])
    return by_row


def row_lines(letter: str, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
    """Return the lines of a row; failed jobs are counted in a separate line."""
    row = ROWS[letter]
    if not tallies:
        return [Line(row=letter, promise=row.title, n=0, result="no jobs", seed="", holds=False)]
    failed = [item for item in tallies if item.promise == JOB_FAILED]
    lines = row.lines(scope, [item for item in tallies if item.promise != JOB_FAILED])
    return [*lines, row.line(scope, JOB_FAILED, failed)] if failed else lines


def _show(status: str) -> None:
    """Replace the progress line of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{status[:110]}")
        sys.stderr.flush()


def run_in_pool(jobs: Sequence[Job], processes: int) -> Iterator[tuple[Job, list[Tally]]]:
    """Run the jobs, those with the highest weight first, and yield each with its tallies as it finishes.

    Raises WorkerLostError.
    """
    context = multiprocessing.get_context("spawn")
    job_queue: Any = context.Queue()
    result_queue: Any = context.Queue()
    workers = [
        context.Process(target=_run_worker, args=(job_queue, result_queue)) for _ in range(min(processes, len(jobs)))
    ]
    for job in sorted(jobs, key=lambda job: -job.weight):
        job_queue.put(job)
    for worker in workers:
        job_queue.put(None)
        worker.start()
    try:
        for _ in jobs:
            yield _next_result(result_queue, workers)
        for worker in workers:
            worker.join(JOIN_TIMEOUT_S)
    finally:
        for worker in workers:
            if worker.is_alive():
                worker.kill()
                worker.join()
        job_queue.cancel_join_thread()


def _next_result(result_queue: Any, workers: Sequence[BaseProcess]) -> tuple[Job, list[Tally]]:
    while True:
        try:
            job, tallies = result_queue.get(timeout=POLL_S)
        except queue.Empty:
            lost = [worker.exitcode for worker in workers if worker.exitcode]
            if lost:
                raise WorkerLostError(f"A worker process exited with status {lost[0]}") from None
            continue
        return job, tallies


def _run_worker(job_queue: Any, result_queue: Any) -> None:
    """Run a worker process; the parent process handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.ERROR)
    asyncio.run(_process_jobs(job_queue, result_queue))


async def _process_jobs(job_queue: Any, result_queue: Any) -> None:
    with temporary_data_folder() as folder:
        async with in_process_runtime(folder) as runtime:
            engine = runtime.engine()
            gc.freeze()  # full collections would pause every job
            gc.set_threshold(*_GC_THRESHOLDS)
            while (job := _next_job(job_queue)) is not None:
                try:
                    tallies = await ROWS[job.row].work(engine, job)
                except Exception:  # noqa: BLE001  # a failed job is reported and must not stop the others
                    message = traceback.format_exc().strip().replace("\n", " | ")[-600:]
                    tallies = [
                        Tally(promise=JOB_FAILED, n=1, scenario=job.scenario, faults=(f"{job.place}: {message}",))
                    ]
                result_queue.put((job, tallies))


def _next_job(job_queue: Any) -> Job | None:
    """Return the next job, or None if all jobs are taken or the parent process has exited."""
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        try:
            job: Job | None = job_queue.get(timeout=POLL_S)
        except queue.Empty:
            continue
        return job
    return None
