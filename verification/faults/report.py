"""Reports of a run: a terminal table and a Markdown table."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

from rich.table import Table

from companyos.cli.terminal import plain_table
from verification.faults.runner import CellResult
from verification.git import commit

HEADINGS = ("cell", "trials", "torn", "lost", "doubled", "unclear")
NOT_RUN = "not run"


def describe_run(*, seed: int, size: str, took_s: float) -> str:
    """Return date, commit, seed, size, duration and machine of a run that ends now."""
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d}, commit {commit()}, seed {seed}, {size}, {took_s:.0f} s, {machine}"


def rows(results: list[CellResult]) -> list[tuple[str, ...]]:
    """Return one row per cell and a total."""
    found = [_row(result) for result in results]
    run = [result for result in results if result.not_run is None]
    counts = [sum(column) for column in zip(*(result.findings.counts() for result in run), strict=True)] or [0] * 4
    return [*found, ("all", str(sum(result.trials for result in run)), *map(str, counts))]


def failed(results: list[CellResult]) -> bool:
    """Return whether a guarantee was violated or no trial was run."""
    return not any(result.trials for result in results) or any(not result.findings.is_clean for result in results)


def terminal_table(results: list[CellResult], run: str) -> Table:
    """Return the terminal table."""
    table = plain_table(run)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "cell" else "right")
    for row in rows(results):
        table.add_row(
            *(f"[bold red]{cell}[/]" if at > 1 and cell not in {"0", ""} else cell for at, cell in enumerate(row))
        )
    return table


def markdown_table(results: list[CellResult], run: str) -> str:
    """Return the Markdown table."""
    lines = [
        "# Faults: the full table",
        "",
        f"Written by `FAULTS=full make faults`: {run}.",
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


def _row(result: CellResult) -> tuple[str, ...]:
    if result.not_run is not None:
        return (result.cell.name, NOT_RUN, "", "", "", "")
    return (result.cell.name, str(result.trials), *map(str, result.findings.counts()))
