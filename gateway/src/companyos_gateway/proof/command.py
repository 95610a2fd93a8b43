"""The proof on the command line: `python -m companyos_gateway.proof`, and `make proof`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from companyos_gateway.proof.crew import CrewLost, done_by_crew
from companyos_gateway.proof.page import NOT_RUN, Run, commit_of, page, table
from companyos_gateway.proof.rows import ROWS, Job, Line, Scope, Tally
from companyos_gateway.proof.rows.row import TROUBLE
from companyos_gateway.proof.sizes import SIZES, Size
from companyos_gateway.proof.worklog import WorkLog
from companyos_gateway.scenarios import catalogue

INTERRUPTED = 130
MISUSED = 2
ENVIRONMENT = "PROOF"
FILES = ("--out", "--worklog")
"""Options that name files: they say nothing of what is proved."""

ALL_LETTERS = "ABCDEFGH"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove, print the table and write the page; return 1 where a promise does not hold."""
    asked = _parser().parse_args(arguments)
    scope = Scope(scenarios=_scenarios(asked), size=_size(asked), first=asked.seed)
    letters = asked.row or list(ROWS)
    jobs = [job for letter in letters for job in ROWS[letter].jobs(scope)]
    try:
        log = WorkLog(asked.worklog) if asked.worklog is not None else None
    except (ValueError, OSError) as trouble:
        sys.stderr.write(f"--worklog: {trouble}\n")
        return MISUSED
    started = time.monotonic()
    try:
        tallies = _done(jobs, asked.processes, log)
    except KeyboardInterrupt:
        kept = f"; the next run goes on from {asked.worklog}" if log is not None else ""
        sys.stderr.write(f"\nstopped: nothing is proved{kept}\n")
        return INTERRUPTED
    except CrewLost as lost:
        sys.stderr.write(f"\n{lost}\n")
        return 1
    finally:
        if log is not None:
            log.close()
    lines = _lines(scope, letters, tallies)
    sys.stdout.write(table(lines))
    sys.stdout.flush()
    if asked.out is not None:
        run = Run(
            size=scope.size.name,
            command=_command(asked, arguments),
            date=f"{datetime.now(UTC):%Y-%m-%d}",  # noqa: TID251  # the day of the page, which is none of the world's
            commits=sorted(log.commits) if log is not None else [commit_of(Path(__file__).parent)],
            seconds=log.seconds if log is not None else time.monotonic() - started,
            processes=asked.processes,
            scenarios=scope.scenarios,
        )
        details = {letter: ROWS[letter].details(tallies[letter]) for letter in letters}
        titles = {letter: row.title for letter, row in ROWS.items()}
        asked.out.write_text(page(run, titles, lines, details), encoding="utf-8")
    return 0 if all(line.holds is not False for line in lines) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m companyos_gateway.proof", description=__doc__)
    parser.add_argument("--scenario", action="append", choices=sorted(catalogue()), help="which one; again for more")
    parser.add_argument("--row", action="append", choices=list(ROWS), help="which row; again for more")
    parser.add_argument("--seed", "--first", type=int, default=0, help="the first seed")
    parser.add_argument("--size", choices=sorted(SIZES), default=os.environ.get(ENVIRONMENT) or "smoke")
    parser.add_argument("--seeds", type=int, help="seeds of the oracles at each level, instead of the size's")
    parser.add_argument("--cheat-seeds", type=int, help="seeds of the cheats at each level, instead of the size's")
    parser.add_argument("--levels", help="chaos levels of rows A and B, by commas")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="processes that share the work")
    parser.add_argument("--out", type=Path, help="write the page there as well")
    parser.add_argument(
        "--worklog", type=Path, help="keep what is done in this file, and go on from it when the same is asked again"
    )
    return parser


def _scenarios(asked: argparse.Namespace) -> tuple[str, ...]:
    return tuple(sorted(asked.scenario or catalogue()))


def _size(asked: argparse.Namespace) -> Size:
    size = SIZES[asked.size]
    if asked.levels is not None:
        size = replace(size, levels=tuple(int(level) for level in asked.levels.split(",")))
    if asked.seeds is not None:
        size = replace(size, oracle_seeds=asked.seeds, cheat_seeds=min(size.cheat_seeds, asked.seeds))
    if asked.cheat_seeds is not None:
        size = replace(size, cheat_seeds=asked.cheat_seeds)
    return size


def _done(jobs: Sequence[Job], processes: int, log: WorkLog | None) -> dict[str, list[Tally]]:
    """Return what every job has counted, by row, in the order of the jobs; those in the log are not done again."""
    found: dict[Job, list[Tally]] = log.found(jobs) if log is not None else {}
    todo = [job for job in jobs if job not in found]
    commit = commit_of(Path(__file__).parent) if log is not None else ""
    is_watched = sys.stderr.isatty()
    last = started = time.monotonic()
    for done, (job, tallies) in enumerate(done_by_crew(todo, processes), start=len(found) + 1):
        found[job] = tallies
        if log is not None and all(one.promise != TROUBLE for one in tallies):
            log.write(job, tallies, seconds=time.monotonic() - last, commit=commit)
        last = time.monotonic()
        if is_watched:
            faults = sum(len(one.faults) for each in found.values() for one in each)
            minutes, seconds = divmod(int(time.monotonic() - started), 60)
            said = f"{done}/{len(jobs)} jobs, {minutes}:{seconds:02}, {faults} against it, last {job.place}"
            sys.stderr.write(f"\r\x1b[2K{said[:110]}")
            sys.stderr.flush()
    if is_watched:
        sys.stderr.write("\r\x1b[2K")
    by_row: dict[str, list[Tally]] = {}
    for job in jobs:
        by_row.setdefault(job.row, []).extend(found[job])
    return by_row


def _lines(scope: Scope, letters: Sequence[str], tallies: dict[str, list[Tally]]) -> list[Line]:
    lines: list[Line] = []
    for letter in ALL_LETTERS:
        row = ROWS.get(letter)
        if row is None or letter not in letters:
            promise = row.title if row is not None else "-"
            lines.append(Line(row=letter, promise=promise, n=0, result=NOT_RUN, seed="", holds=None))
            continue
        found = tallies.get(letter, [])
        troubles = [one for one in found if one.promise == TROUBLE]
        lines += row.lines(scope, [one for one in found if one.promise != TROUBLE])
        if troubles:
            lines.append(row.line(scope, TROUBLE, troubles))
        if not found:
            lines.append(Line(row=letter, promise=row.title, n=0, result="nothing to do", seed="", holds=False))
    return lines


def _command(asked: argparse.Namespace, arguments: Sequence[str] | None) -> str:
    given = list(sys.argv[1:] if arguments is None else arguments)
    kept = [one for at, one in enumerate(given) if one not in FILES and (at == 0 or given[at - 1] not in FILES)]
    if "--size" not in kept and asked.size != "smoke":
        kept += ["--size", asked.size]
    return " ".join(["python -m companyos_gateway.proof", *kept])
