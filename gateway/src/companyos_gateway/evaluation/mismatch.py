"""Mismatches: what a failed check says about an entity, and how rows are compared with what they have to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.evaluation.evidence import Evidence, is_equivalent, same_value
from companyos_shared.wire.control import Change, Row

MAX_NAMED = 3
"""Maximum number of entities that a mismatch lists."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Difference between what was `expected` of an entity, such as `ticketdesk.tickets[OPS-1]`, and what was `found`.

    `step` is the step that decided it, None where no step did: something was never done. `source` is the id of the
    entity whose facts decide what is expected; without one it is the entity itself. `count` is the number of entities
    of which the like is true.
    """

    entity: str
    expected: str
    found: str
    step: int | None = None
    source: str | None = None
    count: int = 1

    @property
    def source_id(self) -> str:
        """The id of the entity that had to be known."""
        return self.source or self.entity.partition("[")[2].rstrip("]")


def row_path(service: str, table: str, key: str) -> str:
    """Return the name of a row in verdicts."""
    return f"{service}.{table}[{key}]"


def first_mismatch(mismatches: Sequence[Mismatch]) -> Mismatch | None:
    """Return the first of the mismatches of several entities, naming the others; None if there is none."""
    return with_others(mismatches[0], [one.entity for one in mismatches[1:]]) if mismatches else None


def with_others(mismatch: Mismatch, others: Sequence[str]) -> Mismatch:
    """Return a mismatch that names other entities of which the same is true."""
    return replace(mismatch, found=f"{mismatch.found}; also {list_names(others)}") if others else mismatch


def list_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def format_value(value: Any) -> str:
    """Return a value of a row as text."""
    if value is None:
        return "none"
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | dict) else str(value)


def format_age(age: timedelta) -> str:
    """Return an age limit as text, in its largest whole unit."""
    minutes = age // timedelta(minutes=1)
    for unit, length in (("day", 1440), ("hour", 60)):
        count, rest = divmod(minutes, length)
        if not rest:
            return f"{count} {unit}{'s' * (count != 1)}"
    return f"{minutes} minutes"


def format_columns(row: Row | None, columns: Iterable[str]) -> str:
    """Return columns of a row as text."""
    if row is None:
        return "no such row"
    return ", ".join(f"{name}: {format_value(row.get(name))}" for name in columns)


def one_of(values: Iterable[str]) -> str:
    """Return accepted values as text."""
    listed = list(values)
    return listed[0] if len(listed) == 1 else f"one of {', '.join(listed)}" if listed else "none"


def deciding_step(changes: Sequence[Change], *columns: str) -> int | None:
    """Return the step of the last change that touched one of the columns, of any column where none is named."""
    return next((change.step for change in reversed(changes) if not columns or is_touched(change, columns)), None)


def is_touched(change: Change, columns: Iterable[str]) -> bool:
    """Say whether a change gave one of the columns another value."""
    before, after = change.before or {}, change.after or {}
    return any(before.get(name) != after.get(name) for name in columns)


def find_row_mismatch(
    evidence: Evidence,
    service: str,
    table: str,
    key: str,
    expected: Mapping[str, Any],
    *,
    step: int | None = None,
    is_same: Callable[[Any, Any], bool] = same_value,
) -> Mismatch | None:
    """Return the first column that holds another value than expected, now or once a step had been taken.

    None if all hold it. A tuple lists the accepted values of a column. A column `fields` is compared by its members,
    whose choices may be typed as a page shows them.
    """
    row_key = (service, table, key)
    row = evidence.row(*row_key) if step is None else evidence.row_at(*row_key, step)
    for column, value in expected.items():
        held = None if row is None else row.get(column)
        if column == "fields":
            held, value = _first_difference(held or {}, value)
        accepted = value if isinstance(value, tuple) else (value,)
        if row is None or not any(is_same(held, one) for one in accepted):
            return Mismatch(
                row_path(*row_key),
                f"{column}: {one_of(map(format_value, accepted))}",
                "no such row" if row is None else f"{column}: {format_value(held)}",
                deciding_step(evidence.row_changes(*row_key), column),
            )
    return None


def _first_difference(held: Mapping[str, Any], expected: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the members that differ, both of them with their names; two equal values if none does."""
    for name in sorted({*held, *expected}):
        if name not in held or name not in expected or not is_equivalent(held[name], expected[name]):
            return {name: held[name]} if name in held else {}, {name: expected[name]} if name in expected else {}
    return None, None
