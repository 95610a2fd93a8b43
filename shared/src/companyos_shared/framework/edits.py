"""Edits of an object as its page lists them, from the recorded changes of its row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Table

from companyos_shared.framework.call import Call
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
    """Name of the person; a colleague's scheduled change does not tell whose it is."""

    field: str
    before: str
    after: str


def list_edits(call: Call, table: Table, key: str, fields: Mapping[str, tuple[str, str]]) -> list[Edit]:
    """Return the edits of a row's fields since the episode began, newest first.

    `fields` maps the columns that are listed to a title and a kind: `text`, `choice`, `person`, `date`, `datetime`, or
    `fields` for a JSON object whose members are listed.
    """
    rows = sqlite_connection(call.db).execute(_SELECT_UPDATES, (table.name, key))
    return [
        Edit(
            at=datetime.fromisoformat(at),
            by=_name(call, call.person) if actor == Actor.AGENT else "A colleague",
            field=title,
            before=_text(call, name, kind, old),
            after=_text(call, name, kind, new),
        )
        for at, actor, before, after in rows
        for title, name, kind, old, new in _differences(json.loads(before), json.loads(after), fields)
    ]


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], fields: Mapping[str, tuple[str, str]]
) -> Iterator[tuple[str, str, str, Any, Any]]:
    """Yield title, name, kind and both values of each field that differs."""
    for column, (title, kind) in fields.items():
        if before[column] == after[column]:
            continue
        if kind == "fields":
            members = dict.fromkeys([*before[column], *after[column]])
            titles = {name: (field_label(name), "text") for name in members}
            yield from _differences(
                dict.fromkeys(members) | before[column], dict.fromkeys(members) | after[column], titles
            )
        else:
            yield title, column, kind, before[column], after[column]


def _text(call: Call, name: str, kind: str, value: Any) -> str:
    if kind == "person":
        return _name(call, value)
    if kind == "choice":
        return label(value)
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else format_value(name, value, kind)


def _name(call: Call, person_id: str | None) -> str:
    person = None if person_id is None else call.company.person(person_id)
    return person.name if person is not None else person_id or "-"
