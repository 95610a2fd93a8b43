"""Reports of a run: a terminal table, a Markdown table and JSON."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from companyos.cli.terminal import plain_table
from verification.faults.findings import KINDS
from verification.faults.runner import CellResult
from verification.git import commit

HEADINGS = ("cell", "trials", "torn", "lost", "doubled", "unclear")
NOT_RUN = "not run"


@dataclass(frozen=True)
class RunMetadata:
    """Time, machine, commit and seed of a run."""

    at: str
    commit: str
    seed: int
    size: str
    took_s: float
    machine: str

    @classmethod
    def now(cls, *, seed: int, size: str, took_s: float) -> RunMetadata:
        """Return the metadata of a run that ends now."""
        return cls(
            at=f"{datetime.now(UTC):%Y-%m-%d}",
            commit=commit() or "unknown",
            seed=seed,
            size=size,
            took_s=round(took_s),
            machine=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        )

    def __str__(self) -> str:
        return f"{self.at}, commit {self.commit}, seed {self.seed}, {self.size}, {self.took_s:.0f} s, {self.machine}"


def rows(results: list[CellResult]) -> list[tuple[str, ...]]:
    """Return one row per cell and a total."""
    found = [_row(result) for result in results]
    run = [result for result in results if result.not_run is None]
    counts = [sum(column) for column in zip(*(result.findings.counts() for result in run), strict=True)] or [0] * 4
    return [*found, ("all", str(sum(result.trials for result in run)), *map(str, counts))]


def failed(results: list[CellResult]) -> bool:
    """Return whether a guarantee was violated or no trial was run."""
    return not any(result.trials for result in results) or any(not result.findings.is_clean for result in results)


def terminal_table(results: list[CellResult], metadata: RunMetadata) -> Table:
    """Return the terminal table."""
    table = plain_table(str(metadata))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "cell" else "right")
    for row in rows(results):
        table.add_row(
            *(f"[bold red]{cell}[/]" if at > 1 and cell not in {"0", ""} else cell for at, cell in enumerate(row))
        )
    return table


def markdown_table(results: list[CellResult], metadata: RunMetadata) -> str:
    """Return the Markdown table."""
    lines = [
        "# Faults: the full table",
        "",
        f"Written by `FAULTS=full make faults`: {metadata}.",
        "[Meaning of the columns](../docs/verification.md#faults).",
        "",
        f"| {' | '.join(HEADINGS)} |",
        "|---|" + "---:|" * (len(HEADINGS) - 1),
        *(f"| {' | '.join(row)} |" for row in rows(results)),
    ]
    reasons = [f"- {result.cell.name}: not run, {result.not_run}." for result in results if result.not_run]
    ended = [
        f"- {result.cell.name}: {result.findings.ended} episodes ended as `infra_error`, slowest response "
        f"{result.findings.slowest_s:.1f} s."
        for result in results
        if result.findings.ended
    ]
    if reasons or ended:
        lines += ["", *reasons, *ended]
    return "\n".join(lines) + "\n"


def to_json(results: list[CellResult], metadata: RunMetadata) -> dict[str, Any]:
    """Return the run as JSON."""
    return {
        **metadata.__dict__,
        "cells": [
            {
                "cell": result.cell.name,
                "trials": result.trials,
                **dict(zip(KINDS, result.findings.counts(), strict=True)),
                "ended_as_infra_error": result.findings.ended,
                "took_s": round(result.took_s, 1),
                "felt": dict(result.findings.observed_effects),
                "slowest_answer_s": round(result.findings.slowest_s, 3),
                "sentences": result.findings.to_sentences(),
                "not_run": result.not_run,
            }
            for result in results
        ],
    }


def _row(result: CellResult) -> tuple[str, ...]:
    if result.not_run is not None:
        return (result.cell.name, NOT_RUN, "", "", "", "")
    return (result.cell.name, str(result.trials), *map(str, result.findings.counts()))
