"""Runs the jobs of rows and summarizes their tallies."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from verification.proof.process_pool import run_in_pool
from verification.proof.report import commit_of
from verification.proof.rows import ROWS, Job, Line, Scope, Tally
from verification.proof.rows.base import JOB_FAILED
from verification.proof.worklog import WorkLog


def run_jobs(jobs: Sequence[Job], processes: int, log: WorkLog | None = None) -> dict[str, list[Tally]]:
    """Run the jobs and return their tallies by row, in job order; finished jobs in the work log are not repeated.

    Shows the progress on a terminal. Raises WorkerLostError.
    """
    found: dict[Job, list[Tally]] = log.found(jobs) if log is not None else {}
    todo = [job for job in jobs if job not in found]
    commit = commit_of(Path(__file__).parent) if log is not None else ""
    last = started = time.monotonic()
    for done, (job, tallies) in enumerate(run_in_pool(todo, processes), start=len(found) + 1):
        found[job] = tallies
        if log is not None and all(tally.promise != JOB_FAILED for tally in tallies):
            log.write(job, tallies, seconds=time.monotonic() - last, commit=commit)
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
