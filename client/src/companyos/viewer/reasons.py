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
_DENIAL = "not so: "
_BOOKKEEPING = frozenset({"version", "updated_at", "created_at", "id", "key"})
_ROWS_TOLD = 4
_COLUMNS_TOLD = 4
_CHARS_TOLD = 60


def reasons(verdict: EpisodeVerdict, steps: Sequence[Step], judged: Sequence[JudgedStep]) -> list[CheckReasons]:
    """Return the reasons of every check, in the order of the verdict."""
    turned = {one.id: judged_step.number for judged_step in judged for one in judged_step.turned}
    by_number = {step.number: step for step in steps}
    return [
        CheckReasons(id=check.id, reasons=list(_reasons(check, by_number, turned.get(check.id))))
        for check in verdict.checks
    ]


def says_more(check: CheckVerdict) -> bool:
    """Say whether the words of a check's evidence are more than its name."""
    words = check.evidence.removeprefix(_DENIAL).replace("_", " ").strip().casefold()
    return words not in ("", check.id.replace("_", " ").casefold())


def _reasons(check: CheckVerdict, steps: Mapping[int, Step], turned: int | None) -> Iterator[Reason]:
    if says_more(check):
        yield Reason(text=check.evidence)
    for service, table, key in _ROW.findall(check.evidence):
        yield _of_row(service, table, key, steps)
    if turned is not None and turned in steps:
        yield from _of_step(steps[turned])
    elif not says_more(check):
        yield Reason(text="so from the start" if check.passed else "no step made it so")


def _of_row(service: str, table: str, key: str, steps: Mapping[int, Step]) -> Reason:
    """Say what last became of a row that the evidence names."""
    named = f"{service}.{table} {key}"
    for number in sorted(steps, reverse=True):
        for change in steps[number].changes:
            if (change.service, change.table, change.key) == (service, table, key):
                return Reason(step=number, text=row_told(change))
    return Reason(text=f"{named}: no step wrote it")


def _of_step(step: Step) -> Iterator[Reason]:
    """Name the rows that a step wrote: what a person asked for first, what time brought after it."""
    told = [row_told(change) for change in sorted(step.changes, key=lambda change: change.actor == "clock")]
    if not told:
        asked = _short(step.arguments)
        yield Reason(step=step.number, text=f"{step.tool} {asked} wrote no row")
    for text in told[:_ROWS_TOLD]:
        yield Reason(step=step.number, text=text)
    if len(told) > _ROWS_TOLD:
        yield Reason(step=step.number, text=f"and {len(told) - _ROWS_TOLD} rows more")


def row_told(change: RowChange) -> str:
    """Return what became of a row, in a line."""
    named = f"{change.service}.{change.table} {change.key}"
    by = "" if change.actor == "agent" else f" (by {change.actor})"
    if change.kind == "deleted":
        return f"{named}: deleted{by}"
    columns = [one for one in change.columns if one.column not in _BOOKKEEPING]
    if change.kind == "added":
        filled = [one for one in columns if one.after not in (None, "", [], {})]
        told = ", ".join(f"{one.column} {_short(one.after)}" for one in filled[:_COLUMNS_TOLD])
        return f"{named}: added{by}, {told}" if told else f"{named}: added{by}"
    told = ", ".join(f"{one.column} {_short(one.before)} → {_short(one.after)}" for one in columns[:_COLUMNS_TOLD])
    return f"{named}: {told or 'written'}{by}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split()) or '""'
    return text if len(text) <= _CHARS_TOLD else f"{text[: _CHARS_TOLD - 1]}…"
