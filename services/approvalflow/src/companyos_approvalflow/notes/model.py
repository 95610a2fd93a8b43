"""Notes on requests and their queries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, func, select

from companyos_approvalflow import tables
from companyos_shared.framework import FixedSelect, number_order


@dataclass(frozen=True, slots=True)
class Note:
    """A note, or the answer to an approver's question. Both are immutable."""

    id: str
    request_id: str
    author_id: str
    at: datetime
    body: str
    question_id: str | None = None
    """The decision whose question the note answers."""


_COLUMNS = tables.notes.c
_LATEST = FixedSelect(
    select(tables.notes, func.count().over().label("total"))
    .where(_COLUMNS.request_id == bindparam("request_id"), _COLUMNS.question_id.is_(None))
    .order_by(_COLUMNS.at.desc(), *(key.desc() for key in number_order(_COLUMNS.id)))
    .limit(bindparam("most"))
)
_ANSWERS = FixedSelect(
    select(tables.notes)
    .where(_COLUMNS.request_id == bindparam("request_id"), _COLUMNS.question_id.is_not(None))
    .order_by(_COLUMNS.at, *number_order(_COLUMNS.id))
)


def insert_note(db: Connection, note: Note) -> None:
    """Insert a note."""
    db.execute(tables.notes.insert(), asdict(note))


def read_latest_notes(db: Connection, request_id: str, most: int) -> tuple[list[Note], int]:
    """Return the latest notes on a request, oldest first, and the total number of notes; answers do not count."""
    rows = _LATEST.rows(db, request_id=request_id, most=most)
    notes = [Note(row["id"], row["request_id"], row["author_id"], row["at"], row["body"]) for row in reversed(rows)]
    return notes, rows[0]["total"] if rows else 0


def read_answers(db: Connection, request_id: str) -> list[Note]:
    """Return the answers to the questions on a request, oldest first."""
    return [Note(**row) for row in _ANSWERS.rows(db, request_id=request_id)]
