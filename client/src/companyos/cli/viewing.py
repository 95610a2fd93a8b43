"""The viewer in the terminal: a run's episodes, one episode's steps, one step, or two episodes side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.padding import Padding

from companyos.cli.diff import print_row
from companyos.cli.results import signed
from companyos.cli.terminal import MISUSED, OUT, day_and_time, fail, plain_table, shown
from companyos.cli.verdicts import outcome_told, print_checks, reasons_of, verdict_told
from companyos.contract import RowDiff

if TYPE_CHECKING:
    from companyos.judging import Judge
    from companyos.viewer.document import EpisodeDocument, RowChange, Step
    from companyos.viewer.stored import StoredRun

_MOST_LINES = 40
"""Lines of a request or a response that are printed."""

_FAILED_SHOWN = 3
_COLOURS = {"carried_out": "green", "problem": "red", "misfit": "red", "planned_fault": "yellow"}


def print_view(run: StoredRun, names: list[str], step: int | None, judge: Judge | None) -> list[str]:
    """Print what is asked for; return what could not be read."""
    if not names and len(run.names) == 1:
        names = run.names
    if not names:
        _print_episodes(run)
        return run.faults
    read = [run.episode(name) if judge is None else run.judged_episode(name, judge) for name in names]
    if len(read) == 2:
        _print_both(*read)
    elif step is None:
        _print_episode(read[0])
    else:
        _print_step(read[0], step)
    return [*run.faults, *(fault for one in read for fault in one.faults)]


def _print_episodes(run: StoredRun) -> None:
    table = plain_table(shown(run.title))
    table.add_column("episode", style="bold", overflow="fold")
    table.add_column("outcome")
    for column in ("return", "steps"):
        table.add_column(column, justify="right")
    table.add_column("failed checks", overflow="fold")
    for facts in run.document().episodes:
        more = f" and {len(facts.failed) - _FAILED_SHOWN} more" if len(facts.failed) > _FAILED_SHOWN else ""
        told = shown(", ".join(facts.failed[:_FAILED_SHOWN]) + more)
        if facts.trouble is not None:
            told += f" [yellow]{shown(facts.trouble)}[/]"
        table.add_row(shown(facts.name), outcome_told(facts.outcome), signed(facts.return_, 2), str(facts.steps), told)
    OUT.print(table)


def _print_episode(episode: EpisodeDocument) -> None:
    facts = episode.facts
    OUT.print(f"[bold]{shown(facts.name)}[/]  {outcome_told(facts.outcome)}, return {signed(facts.return_, 2)}\n")
    if episode.brief is not None:
        OUT.print(Padding(shown(episode.brief), (0, 0, 1, 2), expand=False))
    _print_verdicts(episode)
    table = plain_table()
    for column, justify in (("#", "right"), ("simulated", "left"), ("tool", "left"), ("what came of it", "left")):
        table.add_column(column, justify=justify, no_wrap=column != "what came of it")  # type: ignore[arg-type]
    for column in ("rows", "reward"):
        table.add_column(column, justify="right")
    for one in episode.steps:
        rows = str(len(one.changes)) if one.changes else ""
        table.add_row(str(one.number), day_and_time(one.now), shown(one.tool), _told(one), rows, signed(one.reward, 2))
    OUT.print(table)


def _print_verdicts(episode: EpisodeDocument) -> None:
    """Print the verdict of then, the one of now, and every check that failed in either."""
    then = episode.verdict
    now = episode.judged.verdict if episode.judged is not None else None
    if episode.judged is not None and episode.judged.fault is not None:
        OUT.print(f"[yellow]not judged again:[/] {shown(episode.judged.fault)}")
    for name, verdict in (("when played", then), ("judged again", now)):
        if verdict is not None:
            OUT.print(f"[dim]{name}:[/] {verdict_told(verdict)}")
    told = {check.id: check for verdict in (then, now) if verdict is not None for check in verdict.checks}
    failed = {name for verdict in (then, now) if verdict is not None for name in verdict.failed}
    print_checks([check for name, check in told.items() if name in failed], reasons_of(episode))
    OUT.print()


def _print_step(episode: EpisodeDocument, number: int) -> None:
    step = next((one for one in episode.steps if one.number == number), None)
    if step is None:
        last = episode.steps[-1].number if episode.steps else 0
        fail(f"{episode.facts.name} has no step {number}: it has {len(episode.steps)}, the last is {last}", MISUSED)
    OUT.print(f"[bold]step {step.number}[/] [cyan]{shown(step.tool)}[/] {_told(step)}")
    parts = ", ".join(f"{part.paid:+g} {shown(part.part)}" for part in step.parts or ())
    OUT.print(f"[dim]clock[/] {day_and_time(step.now)}  [dim]reward[/] {signed(step.reward, 2)} [dim]{parts}[/]")
    for one in episode.said:
        if one.step is not None and one.step <= number < one.step + one.calls:
            OUT.print("\n[bold]what the model said[/]")
            OUT.print(Padding(shown(one.text) or "[dim]calls alone, no words[/]", (0, 0, 0, 2), expand=False))
    for heading, value in (("request", step.arguments), ("response", step.error or step.result)):
        OUT.print(f"\n[bold]{heading}[/]")
        for line in _json_lines(value):
            OUT.print(Padding(line, (0, 0, 0, 2), expand=False))
    OUT.print("\n[bold]database difference[/]")
    for change in step.changes:
        _print_change(change)
    if not step.changes:
        OUT.print("[dim]  no row was written[/]")


def _print_change(change: RowChange) -> None:
    cause = "" if change.caused_by is None or change.actor == "agent" else f", because of step {change.caused_by}"
    label = f" {shown(change.label)}" if change.label is not None else ""
    OUT.print(f"  [dim]{shown(f'{change.service}.{change.table}')}, {shown(change.actor)}{cause}:[/]{label}")
    before = {one.column: one.before for one in change.columns}
    after = {one.column: one.after for one in change.columns}
    row = RowDiff(before=None if change.kind == "added" else before, after=None if change.kind == "deleted" else after)
    print_row(change.key, row)


def _print_both(one: EpisodeDocument, other: EpisodeDocument) -> None:
    table = plain_table()
    table.add_column("#", justify="right")
    for episode in (one, other):
        table.add_column(shown(episode.facts.name), overflow="fold")
    table.add_column("")
    parted = None
    for number, (left, right) in enumerate(zip_longest(one.steps, other.steps), start=1):
        how = _difference(left, right)
        parted = parted or (number if how else None)
        table.add_row(str(number), _short(left), _short(right), f"[yellow]{how}[/]" if how else "[dim]same[/]")
    OUT.print(table)
    OUT.print()
    OUT.print("Both went the same way." if parted is None else f"They part at step {parted}.")
    for episode in (one, other):
        OUT.print(f"\n[bold]{shown(episode.facts.name)}[/]  {outcome_told(episode.facts.outcome)}")
        _print_verdicts(episode)


def _difference(left: Step | None, right: Step | None) -> str:
    if left is None or right is None or (left.tool, left.arguments) != (right.tool, right.arguments):
        return "another call"
    answers = [(one.result, one.error, one.reward) for one in (left, right)]
    return "another answer" if answers[0] != answers[1] else ""


def _short(step: Step | None) -> str:
    if step is None:
        return "[dim]over[/]"
    return f"{shown(step.tool)} [{_COLOURS[step.kind]}]{step.status or ''}[/] {signed(step.reward, 2)}"


def _told(step: Step) -> str:
    """Say what came of a step, and which checks it turned."""
    words = step.problem or (step.error or {}).get("error_type") or step.kind.replace("_", " ")
    status = f"{step.status} " if step.status is not None else ""
    fault = f" [yellow]planned: {shown(step.fault.replace('_', ' '))}[/]" if step.fault is not None else ""
    turned = [f"[green]✓ {shown(one.id)}[/]" if one.passed else f"[red]✗ {shown(one.id)}[/]" for one in step.turned]
    return " ".join([f"[{_COLOURS[step.kind]}]{status}{shown(str(words))}[/]{fault}", *turned])


def _json_lines(value: object) -> Iterator[str]:
    import json

    lines = json.dumps(value, indent=2, ensure_ascii=False).splitlines()
    yield from (shown(line) for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"[dim]... {len(lines) - _MOST_LINES} more lines[/]"
