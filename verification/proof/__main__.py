"""Command line of the proof: `python -m verification.proof`, and `make proof`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from companyos_gateway.scenarios import catalogue
from verification.git import commit
from verification.proof.execution import WorkerLostError, row_lines, run_jobs
from verification.proof.report import NOT_RUN, Run, report, table
from verification.proof.rows import ROWS, Line, Scope, Tally
from verification.proof.sizes import LEVELS, SIZES, Size
from verification.proof.worklog import WorkLog

INTERRUPTED = 130
MISUSED = 2
ENVIRONMENT = "PROOF"
FILES = ("--out", "--worklog")
"""Options that name files; they do not affect what is proved."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proof, print the table and write the page; return 1 if a guarantee does not hold."""
    options = _parser().parse_args(arguments)
    scope = Scope(scenarios=_scenarios(options), size=_size(options), first=options.seed)
    letters = options.row or [letter for letter, row in ROWS.items() if row.applies(scope)]
    jobs = [job for letter in letters for job in ROWS[letter].jobs(scope)]
    try:
        log = WorkLog(options.worklog) if options.worklog is not None else None
    except (ValueError, OSError) as error:
        sys.stderr.write(f"--worklog: {error}\n")
        return MISUSED
    started = time.monotonic()
    try:
        tallies = run_jobs(jobs, options.processes, log)
    except KeyboardInterrupt:
        kept = f"; the next run resumes from {options.worklog}" if log is not None else ""
        sys.stderr.write(f"\nstopped; no result{kept}\n")
        return INTERRUPTED
    except WorkerLostError as error:
        sys.stderr.write(f"\n{error}\n")
        return 1
    finally:
        if log is not None:
            log.close()
    lines = _lines(scope, letters, tallies)
    sys.stdout.write(table(lines))
    sys.stdout.flush()
    if options.out is not None:
        run = Run(
            size=scope.size.name,
            command=_command(options, arguments),
            date=f"{datetime.now(UTC):%Y-%m-%d}",  # noqa: TID251  # the real date, not a simulated one
            commits=sorted(log.commits) if log is not None else [commit()],
            seconds=log.seconds if log is not None else time.monotonic() - started,
            processes=options.processes,
            scenarios=scope.scenarios,
        )
        details = {letter: ROWS[letter].details(tallies[letter]) for letter in letters}
        titles = {letter: row.title for letter, row in ROWS.items()}
        options.out.write_text(report(run, titles, lines, details), encoding="utf-8")
    return 0 if all(line.holds is not False for line in lines) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verification.proof", description=__doc__)
    parser.add_argument(
        "--scenario", action="append", choices=sorted(catalogue()), help="scenario to prove; repeat for more"
    )
    parser.add_argument("--row", action="append", choices=list(ROWS), help="row to prove; repeat for more")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--size", choices=sorted(SIZES), default=os.environ.get(ENVIRONMENT) or "smoke")
    parser.add_argument(
        "--seeds", type=int, help="seeds of the oracles per level, of shifts and of row I (default: from the size)"
    )
    parser.add_argument("--cheat-seeds", type=int, help="seeds of the adversaries per level (default: from the size)")
    parser.add_argument("--levels", help="comma-separated chaos levels of rows A and B")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="number of worker processes")
    parser.add_argument("--out", type=Path, help="also write the page to FILE")
    parser.add_argument("--worklog", type=Path, help="store finished jobs in FILE and resume from it")
    return parser


def _scenarios(options: argparse.Namespace) -> tuple[str, ...]:
    return tuple(sorted(options.scenario or catalogue()))


def _size(options: argparse.Namespace) -> Size:
    size = SIZES[options.size]
    if options.levels is not None:
        size = replace(size, levels=tuple(int(level) for level in options.levels.split(",")))
    if options.seeds is not None:
        instances = options.seeds * len(_scenarios(options)) * len(LEVELS)
        size = replace(size, oracle_seeds=options.seeds, shift_seeds=options.seeds, plausible_instances=instances)
        size = replace(size, cheat_seeds=min(size.cheat_seeds, options.seeds))
    if options.cheat_seeds is not None:
        size = replace(size, cheat_seeds=options.cheat_seeds, shift_adversary_seeds=options.cheat_seeds)
    return size


def _lines(scope: Scope, letters: Sequence[str], tallies: dict[str, list[Tally]]) -> list[Line]:
    lines: list[Line] = []
    for letter, row in ROWS.items():
        if letter in letters:
            lines += row_lines(letter, scope, tallies.get(letter, []))
        else:
            lines.append(Line(row=letter, promise=row.title, n=0, result=NOT_RUN, seed="", holds=None))
    return lines


def _command(options: argparse.Namespace, arguments: Sequence[str] | None) -> str:
    words = list(sys.argv[1:] if arguments is None else arguments)
    kept = [one for at, one in enumerate(words) if one not in FILES and (at == 0 or words[at - 1] not in FILES)]
    if "--size" not in kept and options.size != "smoke":
        kept += ["--size", options.size]
    return " ".join(["python -m verification.proof", *kept])


if __name__ == "__main__":
    sys.exit(main())
