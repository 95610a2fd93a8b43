"""Why a check stands as it does: what its evidence names, the step that last turned it, and the rows that step wrote.

A check is a question about the end of an episode; what answers it is in the rows. Nothing here is a guess: a row is
named where the evidence names it, or where the step wrote it with which the check turned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from companyos.contract import CheckVerdict, EpisodeVerdict
from companyos.viewer.document import CheckReasons, JudgedStep, Reason, RowChange, Step

_ROW = re.compile(r"([a-z_]+)\.([a-z_]+)\[([^\]]+)\]")
_NEGATION_PREFIX = "not so: "
_INTERNAL_COLUMNS = frozenset({"version", "updated_at", "created_at", "id", "key"})
_MAX_ROWS = 4
_MAX_COLUMNS = 4
_MAX_CHARS = 60


def reasons(verdict: EpisodeVerdict, steps: Sequence[Step], judged: Sequence[JudgedStep]) -> list[CheckReasons]:
    """Return the reasons of every check, in the order of the verdict."""
    turned = {one.id: judged_step.number for judged_step in judged for one in judged_step.turned}
    by_number = {step.number: step for step in steps}
    return [
        CheckReasons(id=check.id, reasons=list(_reasons(check, by_number, turned.get(check.id))))
        for check in verdict.checks
    ]


def has_details(check: CheckVerdict) -> bool:
    """Say whether the words of a check's evidence are more than its name."""
    words = check.evidence.removeprefix(_NEGATION_PREFIX).replace("_", " ").strip().casefold()
    return words not in ("", check.id.replace("_", " ").casefold())


def _reasons(check: CheckVerdict, steps: Mapping[int, Step], turned: int | None) -> Iterator[Reason]:
    if has_details(check):
        yield Reason(text=check.evidence)
    for service, table, key in _ROW.findall(check.evidence):
        yield _row_reason(service, table, key, steps)
    if turned is not None and turned in steps:
        yield from _step_reasons(steps[turned])
    elif not has_details(check):
        yield Reason(text="so from the start" if check.passed else "no step made it so")


def _row_reason(service: str, table: str, key: str, steps: Mapping[int, Step]) -> Reason:
    """Say what last became of a row that the evidence names."""
    row_name = f"{service}.{table} {key}"
    for number in sorted(steps, reverse=True):
        for change in steps[number].changes:
            if (change.service, change.table, change.key) == (service, table, key):
                return Reason(step=number, text=describe_row_change(change))
    return Reason(text=f"{row_name}: no step wrote it")


def _step_reasons(step: Step) -> Iterator[Reason]:
    """Name the rows that a step wrote: what a person asked for first, what time brought after it."""
    described = [
        describe_row_change(change) for change in sorted(step.changes, key=lambda change: change.actor == "clock")
    ]
    if not described:
        arguments_text = _format_value(step.arguments)
        yield Reason(step=step.number, text=f"{step.tool} {arguments_text} wrote no row")
    for text in described[:_MAX_ROWS]:
        yield Reason(step=step.number, text=text)
    if len(described) > _MAX_ROWS:
        yield Reason(step=step.number, text=f"and {len(described) - _MAX_ROWS} rows more")


def describe_row_change(change: RowChange) -> str:
    """Return what became of a row, in a line."""
    row_name = f"{change.service}.{change.table} {change.key}"
    author = "" if change.actor == "agent" else f" (by {change.actor})"
    if change.kind == "deleted":
        return f"{row_name}: deleted{author}"
    columns = [one for one in change.columns if one.column not in _INTERNAL_COLUMNS]
    if change.kind == "added":
        filled = [one for one in columns if one.after not in (None, "", [], {})]
        described = ", ".join(f"{one.column} {_format_value(one.after)}" for one in filled[:_MAX_COLUMNS])
        return f"{row_name}: added{author}, {described}" if described else f"{row_name}: added{author}"
    described = ", ".join(
        f"{one.column} {_format_value(one.before)} → {_format_value(one.after)}" for one in columns[:_MAX_COLUMNS]
    )
    return f"{row_name}: {described or 'written'}{author}"


def _format_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split()) or '""'
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
