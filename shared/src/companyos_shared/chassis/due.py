"""Scheduled events: rows of the `_due` table, which `settle` applies in (due_at, id) order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from companyos_shared.chassis.columns import time_text
from companyos_shared.chassis.driver import driver_of

if TYPE_CHECKING:
    from companyos_shared.chassis.call import Call

Happening = Callable[["Call", dict[str, Any]], None]
"""Handler of a scheduled event. `call.now` is the due time of the row and the actor is the clock."""

Happenings = Mapping[str, Happening]

_NEXT = "SELECT MIN(due_at) FROM _due"
_SCHEDULE = "INSERT INTO _due (due_at, happening, payload, cause) VALUES (?, ?, ?, ?)"
_FIRST = "SELECT id, due_at, happening, payload, cause FROM _due WHERE due_at <= ? ORDER BY due_at, id LIMIT 1"
_TAKE = "DELETE FROM _due WHERE id = ?"


def schedule(db: Connection, *, due_at: datetime, happening: str, payload: dict[str, Any], cause: str | None) -> None:
    """Insert an event that is due at `due_at`."""
    driver_of(db).execute(_SCHEDULE, (time_text(due_at), happening, json.dumps(payload), cause))


def next_due_at(db: Connection) -> datetime | None:
    """Return the due time of the next event."""
    (due_at,) = driver_of(db).execute(_NEXT).fetchone()
    return None if due_at is None else datetime.fromisoformat(due_at)


def take_next(db: Connection, now: datetime) -> tuple[datetime, str, dict[str, Any], str | None] | None:
    """Remove and return the first row that is due at `now`: (due_at, happening, payload, cause)."""
    driver = driver_of(db)
    row = driver.execute(_FIRST, (time_text(now),)).fetchone()
    if row is None:
        return None
    number, due_at, happening, payload, cause = row
    driver.execute(_TAKE, (number,))
    return datetime.fromisoformat(due_at), happening, json.loads(payload), cause
