"""Reasons for check results: the evidence text, the step that last changed the result, and the rows written by that
step.

A reason states only recorded facts: a row is listed if the evidence contains it, or if the step that changed the
result wrote it.

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
    """Return the reasons of every check, in verdict order."""
    turned = {check.id: judged_step.number for judged_step in judged for check in judged_step.turned}
    by_number = {step.number: step for step in steps}
    return [
        CheckReasons(id=check.id, reasons=list(_reasons(check, by_number, turned.get(check.id))))
        for check in verdict.checks
    ]


def has_details(check: CheckVerdict) -> bool:
    """Return whether the evidence text of a check says more than its name."""
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
    """Return the last change of a row that the evidence contains."""
    row_name = f"{service}.{table} {key}"
    for number in sorted(steps, reverse=True):
        for change in steps[number].changes:
            if (change.service, change.table, change.key) == (service, table, key):
                return Reason(step=number, text=describe_row_change(change))
    return Reason(text=f"{row_name}: not changed by any step")


def _step_reasons(step: Step) -> Iterator[Reason]:
    """Return the rows written by a step: changes of the agent first, then scheduled ones."""
    described = [
        describe_row_change(change) for change in sorted(step.changes, key=lambda change: change.actor == "clock")
    ]
    if not described:
        arguments_text = _format_value(step.arguments)
        yield Reason(step=step.number, text=f"{step.tool} {arguments_text} changed no rows")
    for text in described[:_MAX_ROWS]:
        yield Reason(step=step.number, text=text)
    if len(described) > _MAX_ROWS:
        yield Reason(step=step.number, text=f"and {len(described) - _MAX_ROWS} more rows")


def describe_row_change(change: RowChange) -> str:
    """Return the change of a row as one line."""
    row_name = f"{change.service}.{change.table} {change.key}"
    author = "" if change.actor == "agent" else f" (by {change.actor})"
    if change.kind == "deleted":
        return f"{row_name}: deleted{author}"
    columns = [column for column in change.columns if column.column not in _INTERNAL_COLUMNS]
    if change.kind == "added":
        filled = [column for column in columns if column.after not in (None, "", [], {})]
        described = ", ".join(f"{column.column} {_format_value(column.after)}" for column in filled[:_MAX_COLUMNS])
        return f"{row_name}: added{author}, {described}" if described else f"{row_name}: added{author}"
    described = ", ".join(
        f"{column.column} {_format_value(column.before)} → {_format_value(column.after)}"
        for column in columns[:_MAX_COLUMNS]
    )
    return f"{row_name}: {described or 'written'}{author}"


def _format_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split()) or '""'
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
