"""`python -m verification.faults [--cells PATTERN] [--trials N]`: injects faults and prints the violations."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from companyos.cli.terminal import ERR, OUT
from companyos_shared.temporary_folders import choose_temporary_parent
from verification.defects import FAULT_DEFECTS
from verification.faults.cells import CELLS
from verification.faults.findings import KINDS
from verification.faults.report import describe_run, failed, markdown_table, terminal_table
from verification.faults.runner import MAX_SENTENCES, CellResult, Suite

DEFAULT_SEED = 1
LINES_IN_A_LOG = 20

DETECTED_BY = {
    "op-ids-are-ignored": ("reset after the call, step", ("doubled",)),
    "an-intent-is-forgotten": ("gateway.outcome.before, no retry", ("torn", "lost")),
    "outcomes-are-not-journalled": ("kill -9 gateway in mid step", ("torn", "lost")),
    "a-snapshot-omits-a-service": ("snapshot of another episode", ("lost",)),
    "refusals-have-no-code": ("snapshot of another episode", ("unclear",)),
}
"""The cell that detects each defect, and the columns that must not all be 0."""

TRIALS_OF_A_DEFECT = 3


def main() -> None:
    """Run the selected cells; the exit status is 1 if any guarantee was violated."""
    options = _parser().parse_args()
    cells = [cell for cell in CELLS if fnmatch(cell.name, f"*{options.cells}*")]
    if options.list:
        for cell in cells:
            OUT.print(cell.name)
        return
    if options.prove:
        sys.exit(_prove(options.seed))
    if not cells:
        ERR.print(f"No cell matches {options.cells!r}")
        sys.exit(2)
    folder = _new_folder()
    suite = Suite(
        cells,
        folder,
        options.seed,
        lanes=options.lanes,
        is_full=options.full,
        trials=options.trials,
        defect=options.defect,
    )
    started_at = time.monotonic()
    try:
        is_finished = _run(suite)
    finally:
        _clear(folder)
    _report(suite, options, time.monotonic() - started_at, folder)
    sys.exit(failed(suite.results) or not is_finished)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m verification.faults",
        description="Inject faults into real processes and report violated guarantees.",
    )
    is_full = os.environ.get("FAULTS") == "full"
    parser.add_argument("--full", action="store_true", default=is_full, help="run the release size (FAULTS=full)")
    parser.add_argument(
        "--cells", default="", metavar="PATTERN", help="run only cells whose name contains PATTERN (wildcards: * and ?)"
    )
    parser.add_argument("--trials", type=int, metavar="N", help="number of trials per cell")
    parser.add_argument(
        "--seed", type=int, default=DEFAULT_SEED, help="seed of the random moments (default: %(default)s)"
    )
    parser.add_argument(
        "--lanes", type=int, default=2, metavar="N", help="number of parallel deployments (default: %(default)s)"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown to FILE")
    parser.add_argument("--defect", choices=sorted(FAULT_DEFECTS), help="run with a defect that breaks one guarantee")
    parser.add_argument("--prove", action="store_true", help="run with each defect; each must be detected")
    parser.add_argument("--list", action="store_true", help="list the cells and exit")
    return parser


def _run(suite: Suite) -> bool:
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=ERR,
        disable=not ERR.is_terminal,
        transient=True,
    ) as progress:
        bar = progress.add_task("faults", total=suite.planned)

        def on_trial(result: CellResult) -> None:
            progress.update(bar, advance=1, description=result.cell.name)
            done = sum(entry.trials for entry in suite.results)
            if not ERR.is_terminal and done % max(1, suite.planned // LINES_IN_A_LOG) == 0:
                found = sum(not one.findings.is_clean for one in suite.results)
                ERR.print(f"{done} of {suite.planned} trials, findings in {found} cells")

        suite.on_trial = on_trial
        return asyncio.run(_run_to_end(suite))


async def _run_to_end(suite: Suite) -> bool:
    """Run the suite; SIGTERM ends it early, stops its deployments and prints its table."""
    running = asyncio.ensure_future(suite.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        return False
    return True


def _prove(seed: int) -> int:
    """Run the cell of each defect with it and print the counts; return 1 if a defect is not detected."""
    folder, missed = _new_folder(), 0
    try:
        for defect, (name, columns) in DETECTED_BY.items():
            cells = [cell for cell in CELLS if cell.name == name]
            suite = Suite(cells, folder / defect, seed, lanes=1, trials=TRIALS_OF_A_DEFECT, defect=defect)
            asyncio.run(suite.run())
            counts = dict(zip(KINDS, suite.results[0].findings.counts(), strict=True))
            is_detected = any(counts[column] for column in columns)
            missed += not is_detected
            result = "detected" if is_detected else "NOT DETECTED"
            OUT.print(f"{defect} in {name}: {counts}, {result}", markup=False, soft_wrap=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return int(missed > 0)


def _new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="companyos-faults-", dir=choose_temporary_parent()))


def _report(suite: Suite, options: argparse.Namespace, took_s: float, folder: Path) -> None:
    size = "full" if options.full else "smoke"
    run = describe_run(seed=options.seed, size=size, took_s=took_s)
    OUT.print(terminal_table(suite.results, run))
    if (done := sum(result.trials for result in suite.results)) < suite.planned:
        OUT.print(f"\nended after {done} of {suite.planned} trials", markup=False)
    for result in suite.results:
        if result.not_run:
            OUT.print(f"\n{result.cell.name}: not run, {result.not_run}", markup=False)
        for sentence in result.findings.to_sentences()[:MAX_SENTENCES]:
            OUT.print(f"\n{result.cell.name}: {sentence}", markup=False)
    if folder.exists():
        OUT.print(f"\nFiles of deployments with findings: {folder}", markup=False)
    if options.markdown:
        options.markdown.write_text(markdown_table(suite.results, run), encoding="utf-8")


def _clear(folder: Path) -> None:
    if not any(folder.glob("*/findings.txt")):
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
