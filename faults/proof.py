"""The proof that the suite can fail: for each promise that is broken on purpose, a cell in which that shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from companyos.cli.terminal import plain_table
from faults.cells.catalogue import CELLS
from faults.findings import KINDS
from faults.runner import Suite

TRIALS = 3


@dataclass(frozen=True)
class Proof:
    """A promise that is broken, the cell that looks, and the column that must not be 0."""

    sabotage: str
    cell: str
    column: str


PROOFS = (
    Proof("no-stored-answer", "reset after the call, step", "doubled"),
    Proof("forgotten-intents", "gateway.outcome.before, nobody asks again", "torn"),
    Proof("lost-outcomes", "kill -9 gateway in mid step", "torn"),
    Proof("half-a-snapshot", "snapshot of another episode", "lost"),
    Proof("bare-refusals", "snapshot of another episode", "unclear"),
)


async def prove(proof: Proof, folder: Path, seed: int) -> tuple[int, ...]:
    """Run the proof's cell against its sabotage and return the four columns."""
    cells = [cell for cell in CELLS if cell.name == proof.cell]
    suite = Suite(cells, folder / proof.sabotage, seed, lanes=1, trials=TRIALS, sabotage=proof.sabotage)
    await suite.run()
    return suite.results[0].findings.counts()


def is_caught(proof: Proof, counts: tuple[int, ...]) -> bool:
    """Say whether the column that must not be 0 is not."""
    return counts[KINDS.index(proof.column)] > 0


def proof_table(found: dict[Proof, tuple[int, ...]]) -> Table:
    """Return what every sabotage came to."""
    table = plain_table("Promises that were broken on purpose")
    for heading in ("sabotage", "cell", *KINDS, "caught"):
        table.add_column(heading, justify="right" if heading in KINDS else "left")
    for proof, counts in found.items():
        caught = "yes" if is_caught(proof, counts) else "[bold red]no[/]"
        table.add_row(proof.sabotage, proof.cell, *map(str, counts), caught)
    return table
