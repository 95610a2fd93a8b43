"""Happenings: what time brings. Rows of the due table, applied by settle in (due_at, id) order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, insert, select

from companyos_shared.chassis.tables import due

if TYPE_CHECKING:
    from companyos_shared.chassis.call import Call

Happening = Callable[["Call", dict[str, Any]], None]
"""What a service does when a row falls due; `call.now` is the row's own time and the actor is the clock."""

Happenings = Mapping[str, Happening]

_NEXT = "SELECT MIN(due_at) FROM _due"


def schedule(db: Connection, *, due_at: datetime, happening: str, payload: dict[str, Any], cause: str | None) -> None:
    """Write a row that falls due at `due_at`."""
    db.execute(insert(due).values(due_at=due_at, happening=happening, payload=payload, cause=cause))


def next_due_at(db: Connection) -> datetime | None:
    """Return when the next happening falls due."""
    found: str | None = db.exec_driver_sql(_NEXT).scalar_one()
    return None if found is None else datetime.fromisoformat(found)


def take_next(db: Connection, now: datetime) -> tuple[datetime, str, dict[str, Any], str | None] | None:
    """Remove and return the first row that is due at `now`: (due_at, happening, payload, cause)."""
    row = db.execute(select(due).where(due.c.due_at <= now).order_by(due.c.due_at, due.c.id).limit(1)).one_or_none()
    if row is None:
        return None
    db.execute(delete(due).where(due.c.id == row.id))
    return row.due_at, row.happening, row.payload, row.cause
