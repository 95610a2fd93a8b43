"""Prints episodes, verdicts and checks with their reasons in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding

from companyos.cli.episodes import print_row_change
from companyos.cli.results import format_reward
from companyos.cli.terminal import OUT, USAGE_ERROR, fail, format_time, plain_table, sanitize
from companyos.contract import RowDiff

if TYPE_CHECKING:
    from companyos.contract import CheckVerdict, EpisodeVerdict
    from companyos.rescorers import Rescorer
    from companyos.viewer.document import EpisodeDocument, Explanation, RowChange, Step
    from companyos.viewer.stored_run import StoredRun


_REASON_INDENT = 6


def print_score(episode: EpisodeDocument) -> None:
    """Print the result of an episode: the return, every check with its reasons, and the injected problems."""
    from companyos.viewer.explanation import verdict_of

    facts = episode.facts
    steps = f"{facts.steps} step{'s' * (facts.steps != 1)}"
    OUT.print(f"\n{format_outcome(facts.outcome)} after {steps}, return {format_reward(facts.return_, 2)}\n")
    if facts.trouble is not None:
        OUT.print(f"[yellow]trouble:[/] {sanitize(facts.trouble)}\n", soft_wrap=True)
    verdict = verdict_of(episode)
    if verdict is not None:
        print_checks(verdict.failures_first)
        OUT.print(f"\n{format_verdict(verdict)}")
    injections = [injection for injection in episode.injections if set(injection.detail) != {"rate"}]
    if injections:
        OUT.print("[dim]Injected problems:[/]")
    for injection in injections:
        formatted = f"{injection.kind.replace('_', ' ')} [dim]{sanitize(injection.entity)}, {injection.mark}[/]"
        OUT.print(Padding(formatted, (0, 0, 0, 2), expand=False))


def print_checks(checks: Iterable[CheckVerdict]) -> None:
    """Print checks; a failed one with its reason."""
    for check in checks:
        mark = "[green]✔ passed[/]" if check.passed else "[red]✘ failed[/]"
        OUT.print(Padding(f"{mark} {sanitize(check.id)}", (0, 0, 0, 2), expand=False))
        if check.reason is not None:
            OUT.print(Padding(f"[dim]{sanitize(check.reason)}[/]", (0, 0, 0, _REASON_INDENT), expand=False))


def format_verdict(verdict: EpisodeVerdict) -> str:
    """Return a verdict as one line."""
    damage = f", damage: {sanitize(', '.join(verdict.damage))}" if verdict.damage else ""
    passed = f"{len(verdict.checks) - len(verdict.failed)} of {len(verdict.checks)} checks pass"
    word = "[green]success[/]" if verdict.success else "[red]failure[/]"
    primary = f", primary failure: {sanitize(verdict.primary_failure)}" if verdict.primary_failure else ""
    cases = f", {sanitize(verdict.solved_cases)}" if verdict.solved_cases else ""
    return f"{word}, {passed}{cases}{primary}{damage}"


def format_outcome(outcome: str | None) -> str:
    """Return an outcome with its color."""
    if outcome is None:
        return "[dim]unknown[/]"
    return f"[{'green' if outcome == 'success' else 'red'}]{sanitize(outcome)}[/]"


_MAX_LINES = 40
"""Maximum number of printed lines of a request or a response, unless all are asked for."""

_ARGUMENT_CHARS, _ARGUMENTS_CHARS = 24, 60
"""Maximum length of a value in the list of steps, and of all of them together."""

_MAX_FAILED_CHECKS = 3
_LINE_BREAK = re.compile(r"(?<!\\)((?:\\\\)*)\\n")
"""An escaped line break in JSON, after any escaped backslashes."""

_COLOURS = {"carried_out": "green", "problem": "red", "invalid_call": "red", "planned_fault": "yellow"}


def print_run(
    run: StoredRun, names: list[str], step: int | None, rescorer: Rescorer | None, *, full: bool = False
) -> list[str]:
    """Print a list, an episode, a step or a comparison; return the files that could not be read.

    With `full`, requests and responses of a step are printed to the end.
    """
    if not names and len(run.names) == 1:
        names = run.names
    if not names:
        _print_episodes(run)
        return run.faults
    documents = [run.episode(name, rescorer) for name in names]
    if len(documents) == 2:
        _print_comparison(*documents)
    elif step is None:
        _print_episode(documents[0])
    else:
        _print_step(documents[0], step, full=full)
    return [*run.faults, *(fault for document in documents for fault in document.faults)]


def _print_episodes(run: StoredRun) -> None:
    table = plain_table(sanitize(run.title))
    table.add_column("episode", style="bold", overflow="fold")
    table.add_column("outcome")
    for column in ("return", "steps"):
        table.add_column(column, justify="right")
    table.add_column("failed checks", overflow="fold")
    for facts in run.document().episodes:
        more = f" and {len(facts.failed) - _MAX_FAILED_CHECKS} more" if len(facts.failed) > _MAX_FAILED_CHECKS else ""
        notes = sanitize(", ".join(facts.failed[:_MAX_FAILED_CHECKS]) + more)
        if facts.trouble is not None:
            notes += f" [yellow]{sanitize(facts.trouble)}[/]"
        table.add_row(
            sanitize(facts.name),
            format_outcome(facts.outcome),
            format_reward(facts.return_, 2),
            str(facts.steps),
            notes,
        )
    OUT.print(table)


def _print_episode(episode: EpisodeDocument) -> None:
    facts = episode.facts
    OUT.print(
        f"[bold]{sanitize(facts.name)}[/]  {format_outcome(facts.outcome)}, return {format_reward(facts.return_, 2)}\n"
    )
    if episode.brief is not None:
        OUT.print(Padding(sanitize(episode.brief), (0, 0, 1, 2), expand=False))
    _print_verdicts(episode)
    if episode.finish is not None and episode.why is None:
        ended = f"{episode.finish.get('outcome')}: {episode.finish.get('summary') or 'no summary'}"
        OUT.print(f"[dim]declared:[/] {sanitize(ended)}\n", soft_wrap=True)
    table = plain_table()
    for column, justify in (("#", "right"), ("simulated", "left"), ("tool", "left"), ("result", "left")):
        table.add_column(column, justify=justify, no_wrap=column in ("#", "simulated"))  # type: ignore[arg-type]
    for column in ("rows", "reward"):
        table.add_column(column, justify="right")
    for step in episode.steps:
        rows = str(len(step.changes)) if step.changes else ""
        table.add_row(
            str(step.number),
            format_time(step.now),
            f"{sanitize(step.tool)} [dim]{sanitize(_format_arguments(step.arguments))}[/]",
            _format_step(step),
            rows,
            format_reward(step.reward, 2),
        )
    OUT.print(table)


def _print_verdicts(episode: EpisodeDocument) -> None:
    """Print the recorded verdict and the new one, and why the episode failed."""
    from companyos.viewer.explanation import verdict_of

    then = episode.verdict
    now = episode.judged.verdict if episode.judged is not None else None
    if episode.judged is not None and episode.judged.fault is not None:
        OUT.print(f"[yellow]not rescored:[/] {sanitize(episode.judged.fault)}")
    is_same = then is not None and now is not None and then.agrees_with(now)
    verdicts = [("recorded and rescored", now)] if is_same else [("recorded", then), ("rescored", now)]
    for name, verdict in verdicts:
        if verdict is not None:
            OUT.print(f"[dim]{name}:[/] {format_verdict(verdict)}")
    latest = verdict_of(episode)
    if latest is not None and episode.why is not None:
        _print_explanation(episode.why, latest, episode.steps)
    OUT.print()


def _print_explanation(why: Explanation, verdict: EpisodeVerdict, steps: Sequence[Step]) -> None:
    """Print how an episode ended, and of each cause what was expected and found, and the steps that are about it."""
    checks = {check.id: check for check in verdict.checks}
    calls = {step.number: step for step in steps}
    OUT.print(f"\n[bold]Why it failed[/]\n  {sanitize(why.ended)}", soft_wrap=True)
    for cause in why.causes:
        check = checks[cause.check]
        about = sanitize(" ".join(filter(None, (check.entity, cause.label))))
        OUT.print(f"\n  [red]✘ {sanitize(check.id)}[/] [dim]{about}[/]", soft_wrap=True)
        table = plain_table()
        table.show_header = False
        table.add_row("expected", sanitize(check.expected or ""))
        table.add_row("found", sanitize(check.found or ""))
        if check.known is not None:
            table.add_row("known", sanitize(check.known))
        if cause.steps:
            earlier = [f"[dim]{cause.more} earlier[/]"] if cause.more else []
            table.add_row("steps", "\n".join([*earlier, *(_format_call(calls, number) for number in cause.steps)]))
        OUT.print(Padding(table, (0, 0, 0, _REASON_INDENT - 2)))
    OUT.print()
    if why.consequences:
        OUT.print(Padding(f"consequences: [dim]{sanitize(', '.join(why.consequences))}[/]", (0, 0, 0, 2), expand=False))
    for number in why.policies:
        OUT.print(Padding(f"policy read at step {_format_call(calls, number)}", (0, 0, 0, 2), expand=False))


def _format_call(calls: Mapping[int, Step], number: int) -> str:
    """Return a step as one line; its number alone if the trajectory lacks it."""
    step = calls.get(number)
    if step is None:
        return str(number)
    arguments = sanitize(_format_arguments(step.arguments, with_names=True))
    return f"{number} {sanitize(step.tool)} [dim]{arguments}[/] {_format_result(step)}"


def _format_arguments(arguments: object, *, with_names: bool = False) -> str:
    """Return the short values of a call, such as ids and states, without its idempotency key."""
    values = arguments if isinstance(arguments, dict) else {}
    plain = {
        name: str(value)
        for name, value in values.items()
        if isinstance(value, str | int | float) and name != "idempotency_key"
    }
    short = [
        f"{name}={value}" if with_names else value for name, value in plain.items() if len(value) <= _ARGUMENT_CHARS
    ]
    shown, most = " ".join(short), _ARGUMENTS_CHARS * (2 if with_names else 1)
    return shown if len(shown) <= most else f"{shown[:most]} ..."


def _print_step(episode: EpisodeDocument, number: int, *, full: bool) -> None:
    step = next((step for step in episode.steps if step.number == number), None)
    if step is None:
        last = episode.steps[-1].number if episode.steps else 0
        fail(f"step must be between 1 and {last}, the last step of {episode.facts.name}; got {number}", USAGE_ERROR)
    OUT.print(f"[bold]step {step.number}[/] [cyan]{sanitize(step.tool)}[/] {_format_step(step)}")
    parts = ", ".join(f"{part.paid:+g} {sanitize(part.part)}" for part in step.parts or ())
    OUT.print(f"[dim]clock[/] {format_time(step.now)}  [dim]reward[/] {format_reward(step.reward, 2)} [dim]{parts}[/]")
    for message in episode.messages:
        if message.step is not None and message.step <= number < message.step + message.calls:
            OUT.print("\n[bold]model output[/]")
            OUT.print(Padding(sanitize(message.text) or "[dim]tool calls without text[/]", (0, 0, 0, 2), expand=False))
    for heading, value in (("request", step.arguments), ("response", step.error or step.result)):
        OUT.print(f"\n[bold]{heading}[/]")
        for line in _json_lines(value, full=full):
            OUT.print(Padding(line, (0, 0, 0, 2), expand=False))
    OUT.print("\n[bold]database difference[/]")
    for change in step.changes:
        _print_change(change)
    if not step.changes:
        OUT.print("[dim]  no rows changed[/]")


def _print_change(change: RowChange) -> None:
    cause = "" if change.caused_by is None or change.actor == "agent" else f", caused by step {change.caused_by}"
    label = f" {sanitize(change.label)}" if change.label is not None else ""
    OUT.print(f"  [dim]{sanitize(f'{change.service}.{change.table}')}, {sanitize(change.actor)}{cause}:[/]{label}")
    before = {column.column: column.before for column in change.columns}
    after = {column.column: column.after for column in change.columns}
    row = RowDiff(before=None if change.kind == "added" else before, after=None if change.kind == "deleted" else after)
    print_row_change(change.key, row)


def _print_comparison(left_episode: EpisodeDocument, right_episode: EpisodeDocument) -> None:
    from companyos.viewer.alignment import align, describe_difference

    table = plain_table()
    table.add_column("#", justify="right")
    for episode in (left_episode, right_episode):
        table.add_column(sanitize(episode.facts.name), overflow="fold")
    table.add_column("")
    first_difference = None
    for number, (left, right) in enumerate(align(left_episode.steps, right_episode.steps), start=1):
        difference = describe_difference(left, right)
        first_difference = first_difference or (f"row {number}: {difference}" if difference else None)
        table.add_row(
            str(number),
            _format_cell(left),
            _format_cell(right),
            f"[yellow]{difference}[/]" if difference else "[dim]same[/]",
        )
    OUT.print(table)
    OUT.print()
    OUT.print("The episodes are identical." if first_difference is None else f"First difference in {first_difference}.")
    for episode in (left_episode, right_episode):
        OUT.print(f"\n[bold]{sanitize(episode.facts.name)}[/]  {format_outcome(episode.facts.outcome)}")
        _print_verdicts(episode)


def _format_cell(step: Step | None) -> str:
    if step is None:
        return "[dim]-[/]"
    status = f"[{_COLOURS[step.kind]}]{step.status or ''}[/]"
    return f"[dim]{step.number}[/] {sanitize(step.tool)} {status} {format_reward(step.reward, 2)}"


def _format_step(step: Step) -> str:
    """Return the result of a step and the checks whose result it changed."""
    turned = [
        f"[green]✓ {sanitize(check.id)}[/]" if check.passed else f"[red]✗ {sanitize(check.id)}[/]"
        for check in step.turned
    ]
    return " ".join([_format_result(step), *turned])


def _format_result(step: Step) -> str:
    words = step.problem or (step.error or {}).get("error_type") or step.kind.replace("_", " ")
    status = f"{step.status} " if step.status is not None else ""
    fault = f" [yellow]injected: {sanitize(step.fault.replace('_', ' '))}[/]" if step.fault is not None else ""
    return f"[{_COLOURS[step.kind]}]{status}{sanitize(str(words))}[/]{fault}"


def _json_lines(value: object, *, full: bool) -> Iterator[str]:
    """Yield the lines of a value as JSON, with the line breaks of its texts."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    lines = _LINE_BREAK.sub(r"\1\n    ", text).splitlines()
    shown = lines if full else lines[:_MAX_LINES]
    yield from map(sanitize, shown)
    if len(lines) > len(shown):
        yield f"[dim]... {len(lines) - len(shown)} more lines; --full prints all[/]"
