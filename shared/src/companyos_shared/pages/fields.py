"""Labels, display values and form names of fields that are defined by data."""

from __future__ import annotations

import json
import re

from companyos_shared.pages.writing import label, money

_CENTS = "_cents"
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_SUFFIXES = {"integer": ":int", "number": ":number", "boolean": ":flag"}


def titled(name: str) -> str:
    """Return the label of a field, without the suffix `_cents`."""
    return label(name.removesuffix(_CENTS))


def shown(name: str, value: object) -> str:
    """Return a value for display; cents as an amount with two decimals."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, int) and name.endswith(_CENTS):
        return money(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def argument_of(name: str, kind: str) -> str | None:
    """Return the form name of a field with that type, or None if the name is not valid in a form."""
    if not _NAME.fullmatch(name):
        return None
    is_amount = name.endswith(_CENTS) and kind in ("integer", "number")
    return f"fields.{name}{':cents' if is_amount else _SUFFIXES.get(kind, '')}"
