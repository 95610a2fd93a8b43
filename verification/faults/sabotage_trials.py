"""Checks that the suite can fail: for each sabotage, a cell that must detect it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from companyos.cli.terminal import plain_table
from verification.faults.cells.catalogue import CELLS
from verification.faults.findings import KINDS
from verification.faults.runner import Suite

TRIALS = 3


@dataclass(frozen=True)
class SabotageTrial:
    """A sabotage, the cell that detects it, and the columns that must not all be 0."""

    sabotage: str
    cell: str
    columns: tuple[str, ...]


SABOTAGE_TRIALS = (
    SabotageTrial("no-stored-answer", "reset after the call, step", ("doubled",)),
    SabotageTrial("forgotten-intents", "gateway.outcome.before, no retry", ("torn", "lost")),
    SabotageTrial("lost-outcomes", "kill -9 gateway in mid step", ("torn", "lost")),
    SabotageTrial("half-a-snapshot", "snapshot of another episode", ("lost",)),
    SabotageTrial("bare-refusals", "snapshot of another episode", ("unclear",)),
)


async def run_sabotage_trial(trial: SabotageTrial, folder: Path, seed: int) -> tuple[int, ...]:
    """Run the trial's cell with its sabotage and return the four columns."""
    cells = [cell for cell in CELLS if cell.name == trial.cell]
    suite = Suite(cells, folder / trial.sabotage, seed, lanes=1, trials=TRIALS, sabotage=trial.sabotage)
    await suite.run()
    return suite.results[0].findings.counts()


def is_detected(trial: SabotageTrial, counts: tuple[int, ...]) -> bool:
    """Return whether one of the columns that must not all be 0 is positive."""
    return any(counts[KINDS.index(column)] > 0 for column in trial.columns)


def sabotage_table(found: dict[SabotageTrial, tuple[int, ...]]) -> Table:
    """Return the table of sabotage results."""
    table = plain_table("Sabotage: guarantees disabled one at a time")
    for heading in ("sabotage", "cell", *KINDS, "caught"):
        table.add_column(heading, justify="right" if heading in KINDS else "left")
    for trial, counts in found.items():
        caught = "yes" if is_detected(trial, counts) else "[bold red]no[/]"
        table.add_row(trial.sabotage, trial.cell, *map(str, counts), caught)
    return table
