"""A note that somebody wrote beside a request."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from companyos_approvalflow import tables


@dataclass(frozen=True, slots=True)
class Note:
    """One note; notes are never changed."""

    id: str
    request_id: str
    author_id: str
    at: datetime
    body: str


def insert_note(db: Connection, note: Note) -> None:
    """Write a note."""
    db.execute(tables.notes.insert(), asdict(note))


def read_latest_notes(db: Connection, request_id: str, most: int) -> list[Note]:
    """Return the latest notes on a request, oldest first."""
    columns = tables.notes.c
    found = select(tables.notes).where(columns.request_id == request_id)
    rows = db.execute(found.order_by(columns.at.desc(), columns.id.desc()).limit(most)).all()
    return [Note(**row._mapping) for row in reversed(rows)]


def count_notes(db: Connection, request_id: str) -> int:
    """Return how many notes a request has."""
    found = select(func.count()).select_from(tables.notes).where(tables.notes.c.request_id == request_id)
    return db.execute(found).scalar_one()
