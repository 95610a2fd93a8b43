"""Reports of the proof: a terminal table, and the page `results/proof.md`."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verification.proof.rows.base import Line

NOT_RUN = "not run"
_HOLDS = {True: "yes", False: "NO", None: NOT_RUN}


@dataclass(frozen=True, kw_only=True)
class Run:
    """The scope and cost of a run."""

    size: str
    command: str
    date: str
    commits: Sequence[str]
    """The commits of the run; several if the code that a row runs is the same at all of them."""

    seconds: float
    processes: int
    scenarios: Sequence[str]


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a terminal table."""
    width = max(len(line.promise) for line in lines)
    head = f"{'':4}{'':2}{'promise':{width}}  {'n':>7}  result"
    rows = [
        f"{_HOLDS[one.holds] if one.holds is not None else '-':4}{one.row:2}{one.promise:{width}}  {one.n:7}  "
        f"{one.result}" + (f"  [seed {one.seed}]" if one.seed else "")
        for one in lines
    ]
    return "\n".join([head, *rows, ""])


def report(run: Run, titles: Mapping[str, str], lines: Sequence[Line], details: Mapping[str, Sequence[str]]) -> str:
    """Return the report: a table of guarantees, followed by the details of each row."""
    commits = ", ".join(f"`{one}`" for one in run.commits)
    generated = (
        f"Generated on {run.date} at commit {commits} by `{run.command}`, in {run.seconds / 60:.1f} minutes with "
        f"{run.processes} processes on {platform.machine()}, Python {platform.python_version()}; do not edit. "
        "[Meaning of the rows](../docs/verification.md#proof)."
    )
    lines_out = [
        f"# The proof, {run.size} size",
        "",
        generated,
        "",
        f"Scenarios: {', '.join(run.scenarios)}.",
        "",
        "| row | promise | n | result | seed | holds |",
        "|---|---|---|---|---|---|",
    ]
    lines_out += [
        f"| {one.row} | {one.promise} | {one.n} | {_cell(one.result)} | {one.seed} | {_HOLDS[one.holds]} |"
        for one in lines
    ]
    for letter, text in details.items():
        if text:
            lines_out += ["", f"## {letter}: {titles[letter]}", "", *text]
    return "\n".join(lines_out) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")
