"""Mismatches that failed checks report, and the comparison of rows with their expected values."""

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
    """Difference between the `expected` and the `found` state of an entity, such as `ticketdesk.tickets[OPS-1]`.

    `step` is the step that decided it, None if something was never done. `source` is the id of the entity whose facts
    determine what is expected; by default it is the entity itself. `count` is the number of entities with such a
    mismatch.
    """

    entity: str
    expected: str
    found: str
    step: int | None = None
    source: str | None = None
    count: int = 1

    @property
    def source_id(self) -> str:
        """The id of the entity whose facts the agent had to know."""
        return self.source or self.entity.partition("[")[2].rstrip("]")


def row_path(service: str, table: str, key: str) -> str:
    """Return the path of a row, as mismatches name it."""
    return f"{service}.{table}[{key}]"


def first_mismatch(mismatches: Sequence[Mismatch]) -> Mismatch | None:
    """Return the first mismatch, which also names the entities of the others; None if there is none."""
    return with_others(mismatches[0], [one.entity for one in mismatches[1:]]) if mismatches else None


def with_others(mismatch: Mismatch, others: Sequence[str]) -> Mismatch:
    """Return a mismatch that also names other entities of which the same is true."""
    return replace(mismatch, found=f"{mismatch.found}; also {list_names(others)}") if others else mismatch


def list_names(names: Sequence[str]) -> str:
    """Return the first MAX_NAMED names and the number of the others, as text."""
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
    """Return the step of the last change of one of the columns, or of any column if none is given."""
    return next((change.step for change in reversed(changes) if not columns or is_touched(change, columns)), None)


def is_touched(change: Change, columns: Iterable[str]) -> bool:
    """Return whether a change modified one of the columns."""
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
    """Return a mismatch for the first column with an unexpected value, now or as of `step`; None if there is none.

    A tuple lists the accepted values of a column. The column `fields` is compared by its members, whose choices may be
    spelled as a page shows them.
    """
    row_key = (service, table, key)
    row = evidence.row(*row_key, step)
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
    """Return the first member that differs, as found and as expected, with its name; two equal values if none."""
    for name in sorted({*held, *expected}):
        if name not in held or name not in expected or not is_equivalent(held[name], expected[name]):
            return {name: held[name]} if name in held else {}, {name: expected[name]} if name in expected else {}
    return None, None
