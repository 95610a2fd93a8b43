"""Scheduled events: rows of the `_due` table, which `settle` applies in (due_at, id) order."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from companyos_shared.framework.columns import format_time
from companyos_shared.framework.storage import sqlite_connection

NEVER = datetime(9999, 12, 31, tzinfo=UTC)
"""Due time of a suspended event, which waits for `wake`."""

_SELECT_NEXT_DUE_AT = "SELECT MIN(due_at) FROM _due"
_INSERT = "INSERT INTO _due (due_at, kind, payload, cause) VALUES (?, ?, ?, ?)"
_WAKE = "UPDATE _due SET due_at = ? WHERE kind = ? AND due_at = ? AND json_extract(payload, '$.key') = ?"
_SELECT_FIRST = "SELECT id, due_at, kind, payload, cause FROM _due WHERE due_at <= ? ORDER BY due_at, id LIMIT 1"
_DELETE = "DELETE FROM _due WHERE id = ?"


def schedule(db: Connection, *, due_at: datetime, kind: str, payload: dict[str, Any], cause: str | None) -> None:
    """Insert an event that is due at `due_at`."""
    sqlite_connection(db).execute(_INSERT, (format_time(due_at), kind, json.dumps(payload), cause))


def wake(db: Connection, *, kind: str, key: str, due_at: datetime) -> None:
    """Set the due time of the suspended events of a kind whose payload has that `key`."""
    sqlite_connection(db).execute(_WAKE, (format_time(due_at), kind, format_time(NEVER), key))


def next_due_at(db: Connection) -> datetime | None:
    """Return the due time of the next event, or None if there is none."""
    (due_at,) = sqlite_connection(db).execute(_SELECT_NEXT_DUE_AT).fetchone()
    return None if due_at is None else datetime.fromisoformat(due_at)


def pop_next(db: Connection, now: datetime) -> tuple[datetime, str, dict[str, Any], str | None] | None:
    """Remove and return the first row that is due at `now`, as (due_at, kind, payload, cause), or None."""
    driver = sqlite_connection(db)
    row = driver.execute(_SELECT_FIRST, (format_time(now),)).fetchone()
    if row is None:
        return None
    number, due_at, kind, payload, cause = row
    driver.execute(_DELETE, (number,))
    return datetime.fromisoformat(due_at), kind, json.loads(payload), cause
