"""Plausible wrong values of a field, by the kind of the field."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

PERCENTAGES = (80, 85, 90, 110, 115, 120, 130)
"""Wrong amounts and numbers, in percent of the right one."""

SMALL = 10
STEPS = (2, 3, 5)
"""Differences of a wrong number from a right one below SMALL. A difference of one would be taken for a typing error."""

LATER_DAYS = (30, 60, 90, 180, 365)
MIN_CHOICES = 3
"""Minimum number of values of an enumeration: with two, the wrong one would give the right one away."""

_CHOICE = re.compile(r"[a-z][a-z_]*")
_LIST = re.compile(r": ([a-z_]+(?:, [a-z_]+)* or [a-z_]+)\.?$")

Value = str | int


class FieldKind(StrEnum):
    """Kind of a field, which selects its wrong values and the texts about it."""

    AMOUNT = "amount"
    DATE = "date"
    NUMBER = "number"
    CHOICE = "choice"


def field_kind(name: str, value: Any) -> FieldKind | None:
    """Return the kind of a field by its name and right value, None if no wrong values are derived for it."""
    if isinstance(value, bool) or not isinstance(value, Value):
        return None
    if isinstance(value, int):
        return FieldKind.AMOUNT if name.endswith("_cents") else FieldKind.NUMBER
    try:
        date.fromisoformat(value)
    except ValueError:
        return FieldKind.CHOICE
    return FieldKind.DATE


def wrong_values(right: Value, kind: FieldKind, choices: Iterable[str] = ()) -> list[Value]:
    """Return plausible wrong values of a field. `choices` are the values of its enumeration, if it has one."""
    if kind is FieldKind.DATE:
        return [(date.fromisoformat(str(right)) + timedelta(days=days)).isoformat() for days in LATER_DAYS]
    if kind is FieldKind.CHOICE:
        listed = sorted(set(choices))
        is_enumeration = len(listed) >= MIN_CHOICES and right in listed and all(map(_CHOICE.fullmatch, listed))
        return [one for one in listed if one != right] if is_enumeration else []
    figure = int(right)
    if figure <= 0:
        return []
    if kind is FieldKind.NUMBER and figure < SMALL:
        return [figure + step for step in STEPS]
    step = _rounding(figure) if kind is FieldKind.AMOUNT else 1
    found = dict.fromkeys((figure * percent // 100) // step * step for percent in PERCENTAGES)
    return [one for one in found if abs(one - figure) > 1]


def format_value(value: Value, kind: FieldKind) -> str:
    """Return a value as a colleague would write it; a choice is quoted."""
    if kind is FieldKind.CHOICE:
        return f'"{str(value).replace("_", " ")}"'
    if kind is not FieldKind.AMOUNT:
        return str(value)
    return f"EUR {int(value) / 100:,.2f}".removesuffix(".00")


def listed_choices(description: str) -> list[str]:
    """Return the values that a description lists, as in "Access level: read, write or admin."."""
    listed = _LIST.search(description)
    return re.split(r", | or ", listed[1]) if listed else []


def _rounding(cents: int) -> int:
    """Return the rounding step that keeps an amount about as round as it is, with at least three digits."""
    digits = str(cents)
    trailing_zeros = len(digits) - len(digits.rstrip("0"))
    return int(10 ** min(trailing_zeros, max(0, len(digits) - 3)))
