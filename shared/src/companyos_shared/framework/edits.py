"""Edits of an object for its page, read from the recorded changes of its row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import Table

from companyos_shared.framework.pages import PageView
from companyos_shared.framework.storage import sqlite_connection
from companyos_shared.pages.rendering import field_label, label
from companyos_shared.pages.values import format_value
from companyos_shared.wire.context import Actor

_SELECT_UPDATES = (
    "SELECT at, actor, before, after FROM _changes "
    "WHERE tbl = ? AND key = ? AND before IS NOT NULL AND after IS NOT NULL ORDER BY seq DESC"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A changed field of an object, with both values as pages show them."""

    at: datetime
    by: str
    """Name of the agent's employee, or "A colleague" for a scheduled change."""

    field: str
    before: str
    after: str


def list_edits(
    view: PageView,
    table: Table,
    key: str,
    fields: Mapping[str, tuple[str, str]],
    members: Mapping[str, str] = MappingProxyType({}),
) -> list[Edit]:
    """Return the edits of a row's fields since the start of the episode, newest first.

    `fields` maps the listed columns to a title and a kind: `text`, `choice`, `person`, `date` or `datetime`.
    `members` maps the members of the JSON column `fields` to their types.
    """
    edits = []
    for at, actor, *images in sqlite_connection(view.call.db).execute(_SELECT_UPDATES, (table.name, key)):
        by = view.name_of(view.call.person) if actor == Actor.AGENT else "A colleague"
        before, after = (_texts(view, json.loads(image), fields, members) for image in images)
        for title in dict.fromkeys([*before, *after]):
            old, new = before.get(title, "-"), after.get(title, "-")
            if old != new:
                edits.append(Edit(at=datetime.fromisoformat(at), by=by, field=title, before=old, after=new))
    return edits


def _texts(
    view: PageView, row: Mapping[str, Any], fields: Mapping[str, tuple[str, str]], members: Mapping[str, str]
) -> dict[str, str]:
    """Return the displayed texts of a row's fields by title."""
    texts = {title: _text(view, name, kind, row[name]) for name, (title, kind) in fields.items()}
    values = row["fields"] if members else {}
    return texts | {field_label(name): _text(view, name, members.get(name, "text"), values[name]) for name in values}


def _text(view: PageView, name: str, kind: str, value: Any) -> str:
    if kind == "person":
        return view.name_of(value)
    if kind == "choice":
        return label(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value) or "-"
    return format_value(name, value, kind)
