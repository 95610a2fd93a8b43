"""Writes results/baselines.md, .png and .json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from companyos.runner.plots import draw_curves
from verification.benchmarks.baselines.findings import findings
from verification.benchmarks.baselines.formatting import line, percent, percent_with_interval, signed_with_interval
from verification.benchmarks.baselines.learning_results import learning
from verification.benchmarks.baselines.results import Row, from_json
from verification.benchmarks.baselines.runner import Session

NAME = "baselines"
LEVELS = ("0 calm", "1 light", "2 moderate", "3 heavy", "4 storm")
POLICY_DESCRIPTIONS = {
    "noop": "calls `finish` with `done` at once",
    "random": "calls random tools with arguments that match the schema; half of the ids come from the brief",
    "worker1": "knows the workflow, checks nothing, gives up at the first failure",
    "worker2": "also retries, refreshes stale values and asks the holder of a role",
    "worker3": "also finds the entitled approver; never refuses, and trusts any source",
    "oracle": "a script per scenario that sees what an agent sees and follows the policies",
}

_TEXT = Path(__file__).with_name("page.txt")


class PageError(Exception):
    """Raised for rows that cannot share a page; the message states the reason."""


def write_page(rows: Sequence[Row], sessions: Sequence[Session], folder: Path) -> None:
    """Write the page, its plot and its figures. Raises PageError for rows of different tasks."""
    check_comparable(rows)
    document = {"rows": [row.as_json() for row in rows], "sessions": [asdict(session) for session in sessions]}
    (folder / f"{NAME}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    title = f"split test, {rows[0].tasks} tasks, {rows[0].trials} trials each; 95 % intervals"
    draw_curves({row.name: row.curve for row in rows}, folder / f"{NAME}.png", title=title)
    (folder / f"{NAME}.md").write_text(page(rows, sessions, folder), encoding="utf-8")


def read_figures(folder: Path) -> tuple[list[Row], list[Session]]:
    """Return the figures of the page in a folder. Raises PageError if there are none."""
    figures = folder / f"{NAME}.json"
    if not figures.exists():
        raise PageError(f"{folder} contains no {NAME}.json; play the baselines first")
    document = json.loads(figures.read_text(encoding="utf-8"))
    return [from_json(row) for row in document["rows"]], [Session(**session) for session in document["sessions"]]


def check_comparable(rows: Sequence[Row]) -> None:
    """Raise PageError unless all rows have the same tasks and trials."""
    first = rows[0]
    for row in rows:
        if (row.task_set, row.tasks_digest, row.trials) != (first.task_set, first.tasks_digest, first.trials):
            raise PageError(
                f"{row.name} played {_what(row)}, and {first.name} {_what(first)}: rows must have the same tasks; "
                f"the command of {first.name} is `{first.command}`"
            )
    names = [row.name for row in rows]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PageError(f"duplicate rows: {', '.join(twice)}")


def page(rows: Sequence[Row], sessions: Sequence[Session], folder: Path) -> str:
    """Return the page; the learning results are read from the folder if present."""
    first = rows[0]
    return _TEXT.read_text(encoding="utf-8").format(
        name=NAME,
        tasks=first.tasks,
        trials=first.trials,
        scenarios=_counted(first.scenarios, "scenario"),
        levels=_counted(len(first.levels), "level"),
        table=table(rows),
        by_level=level_table(rows),
        says="\n".join(f"- {sentence}" for sentence in findings(rows)),
        played=_played(sessions),
        learning=learning(folder),
    )


def table(rows: Sequence[Row]) -> str:
    """Return one row per policy, with its command below its name."""
    passed = f"pass^{rows[0].trials}"
    shares = ("side effects", "invalid calls", "refused calls")
    head = ("policy", "pass@1", passed, "mean return", "steps", *shares, "policy errors")
    lines = [line(head), "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *(line(_cells(row)) for row in rows)])


def level_table(rows: Sequence[Row]) -> str:
    """Return the success of every policy by level."""
    levels = [level.level for level in rows[0].levels]
    lines = [line(("policy", *(LEVELS[level] for level in levels))), "|---|" + "---:|" * len(levels)]
    return "\n".join(
        [*lines, *(line((row.name, *(percent_with_interval(level.success) for level in row.levels))) for row in rows)]
    )


def _cells(row: Row) -> tuple[str, ...]:
    below = f"`{row.command}`<br>task set {row.task_set}, companyos {row.version}"
    return (
        f"**{row.name}** {POLICY_DESCRIPTIONS.get(row.name, '')}<br>{below}",
        percent_with_interval(row.success),
        percent(row.pass_hat),
        signed_with_interval(row.return_),
        f"{row.steps:.1f}",
        percent(row.side_effects),
        percent(row.invalid),
        percent(row.refused),
        "-" if row.policy_errors is None else str(row.policy_errors),
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _what(row: Row) -> str:
    return f"{row.tasks} tasks of the set {row.task_set} {row.trials} times each"


def _played(sessions: Sequence[Session]) -> str:
    """Return the dates, the duration and the machine load of the sessions as text."""
    days = sorted({session.began[:10] for session in sessions})
    commits = list(dict.fromkeys(session.commit for session in sessions if session.commit))
    episodes = sum(session.episodes for session in sessions)
    wall_s, processor_s = sum(session.wall_s for session in sessions), sum(session.processor_s for session in sessions)
    loads = sorted(session.load for session in sessions)
    load = f"{loads[0]:.0f}" if len(loads) == 1 else f"{loads[0]:.0f} to {loads[-1]:.0f}"
    return (
        f"on {' to '.join(dict.fromkeys((days[0], days[-1])))}, commit {', '.join(f'`{one}`' for one in commits)}: "
        f"{episodes:,} episodes in {wall_s / 60:.1f} minutes, {processor_s / 60:.1f} minutes of processor time, on "
        f"{sessions[-1].processors} cores with a load of {load} in the end"
    )
