"""Fields whose names and types are data: how a page words them, shows what they hold, and calls them in a form."""

from __future__ import annotations

import json
import re

from companyos_shared.pages.writing import label, money

_CENTS = "_cents"
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_SUFFIXES = {"integer": ":int", "number": ":number", "boolean": ":flag"}


def titled(name: str) -> str:
    """Return the name of a field in words; that an amount is kept in cents is left out."""
    return label(name.removesuffix(_CENTS))


def shown(name: str, value: object) -> str:
    """Return a value as people read it; amounts in cents with their two decimals."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, int) and name.endswith(_CENTS):
        return money(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def argument_of(name: str, kind: str) -> str | None:
    """Return what a field of that type is called in a form; None where its name is none that a form has."""
    if not _NAME.fullmatch(name):
        return None
    is_amount = name.endswith(_CENTS) and kind in ("integer", "number")
    return f"fields.{name}{':cents' if is_amount else _SUFFIXES.get(kind, '')}"
