"""`make simulate`: runs histories of many seeds and prints statistics and violations."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from verification.defects import SIMULATION_DEFECTS
from verification.simulation.driver import HistoryResult
from verification.simulation.history import play

HASH_SEED = "0"
"""A fixed hash seed, because sets of strings are iterated in hash order."""

KINDS = ("lost", "doubled", "torn", "resurrected")


def main() -> int:
    """Run the histories; return 1 if there was a violation."""
    options = _arguments()
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        os.execve(  # noqa: S606 - this very program
            sys.executable,
            [sys.executable, "-m", "verification.simulation", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": HASH_SEED},
        )
    if options.seed is not None:
        return _trace(options.seed, options.defect)
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    started_at = time.perf_counter()
    tally = Tally(len(seeds))
    for result in _play_all(seeds, options.defect, options.jobs):
        tally.add(result)
        if options.defect and result.violation:
            print(f"{options.defect}: found after {tally.histories} histories")
            break
    tally.show(time.perf_counter() - started_at)
    return 1 if tally.violations else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m verification.simulation", description=__doc__)
    parser.add_argument("seeds", nargs="?", default="0-1999", help="seeds as FIRST-LAST, inclusive")
    parser.add_argument("--seed", type=int, help="play one seed twice and print its history")
    parser.add_argument(
        "--defect", choices=sorted(SIMULATION_DEFECTS), help="inject a defect; stop at the first history that finds it"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


HISTORIES_PER_PROCESS = 200
"""Histories per process; a killed simulated process leaves about four descriptors of `/dev/null` open."""


def _trace(seed: int, defect: str | None) -> int:
    first, second = _play(seed, defect), _play(seed, defect)
    print("\n".join(first.lines))
    print(f"\nseed {seed}, digest {first.digest}, played again {second.digest}: {first.violation or 'no violation'}")
    return 1 if first.violation or first.digest != second.digest else 0


def _play(seed: int, defect: str | None) -> HistoryResult:
    logging.disable(logging.CRITICAL)
    with pytest.MonkeyPatch.context() as patch:
        if defect is not None:
            SIMULATION_DEFECTS[defect](patch)
        return play(seed)


def _play_one(options: tuple[int, str | None]) -> HistoryResult:
    result = _play(*options)
    if not result.violation:
        result.lines.clear()
    return result


def _play_all(seeds: Iterable[int], defect: str | None, jobs: int) -> Iterator[HistoryResult]:
    options = [(seed, defect) for seed in seeds]
    if jobs == 1:
        yield from map(_play_one, options)
        return
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=HISTORIES_PER_PROCESS) as pool:
        yield from pool.imap(_play_one, options)


class Tally:
    """Totals of all histories and their violations."""

    def __init__(self, total: int) -> None:
        self._total = total
        self.histories = 0
        self._switches = 0
        self._moves: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self.violations: list[HistoryResult] = []

    def add(self, result: HistoryResult) -> None:
        """Count one history, and print the progress at intervals."""
        self.histories += 1
        self._switches += result.switches
        self._moves += result.moves
        self._faults += result.faults
        if result.violation:
            self.violations.append(result)
            print(f"seed {result.seed} ({result.digest}): {result.violation}", flush=True)
        if self.histories % 500 == 0:
            print(
                f"{self.histories} of {self._total} histories, {len(self.violations)} violations",
                file=sys.stderr,
                flush=True,
            )

    def show(self, seconds: float) -> None:
        """Print the totals and the violations by kind."""
        kinds = Counter(result.violation.partition(":")[0] for result in self.violations)
        rows = [
            ("histories", str(self.histories)),
            ("moves", _counted(self._moves)),
            ("faults", _counted(self._faults)),
            ("switches between processes", str(self._switches)),
            *((kind, str(kinds.pop(kind, 0))) for kind in KINDS),
            *((kind, str(number)) for kind, number in sorted(kinds.items())),
            ("seconds", f"{seconds:.1f}"),
            ("histories a minute", f"{self.histories / seconds * 60:.0f}"),
        ]
        print("\n| measure | result |\n|---|---|")
        for what, result in rows:
            print(f"| {what} | {result} |")


def _counted(numbers: Counter[str]) -> str:
    return f"{numbers.total()}: " + ", ".join(f"{name} {number}" for name, number in sorted(numbers.items()))


if __name__ == "__main__":
    sys.exit(main())
