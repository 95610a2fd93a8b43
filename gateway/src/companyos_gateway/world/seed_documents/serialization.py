"""Serializes typed rows to JSON: times as `2026-03-02T09:15:00Z`, dates as `2026-03-02`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import date, datetime
from functools import cache
from operator import attrgetter
from typing import Any

_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


def format_time(at: datetime) -> str:
    """Return an aware UTC datetime as the services write it, to the second."""
    return f"{at.isoformat()[:19]}Z"


def row_json(row: object) -> dict[str, Any]:
    """Return a row (a dataclass with slots) as a JSON object, including members that are None."""
    row_type: Any = type(row)
    names, read = _reader(row_type)
    return {
        name: value if type(value) in _SCALAR_TYPES else _value_json(value)
        for name, value in zip(names, read(row), strict=True)
    }


def rows_json(rows: Iterable[object]) -> list[dict[str, Any]]:
    """Return rows as JSON objects."""
    return [row_json(row) for row in rows]


@cache
def _reader(row_type: Any) -> tuple[tuple[str, ...], Callable[[Any], Any]]:
    names = tuple(member.name for member in fields(row_type))
    return names, attrgetter(*names)


def _value_json(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALAR_TYPES:
        return value
    if kind is datetime:
        return format_time(value)
    if kind is date:
        return value.isoformat()
    if kind is list or kind is tuple:
        return [_value_json(item) for item in value]
    if kind is dict:
        return {name: _value_json(item) for name, item in value.items()}
    return str(value) if isinstance(value, str) else row_json(value)
