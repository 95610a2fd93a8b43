"""Tickets, their statuses with the allowed transitions, and their queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select

from companyos_shared.choices import Choice
from companyos_shared.framework import FixedSelect
from companyos_shared.wire.company import ReasonCode
from companyos_ticketdesk import tables


class TicketType(Choice):
    """Kind of work of a ticket."""

    TASK = "task"
    BUG = "bug"
    INCIDENT = "incident"
    REQUEST = "request"
    CHANGE = "change"


class Priority(Choice):
    """Urgency of a ticket."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Status(Choice):
    """Status of a ticket; an untriaged ticket has none."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    IN_REVIEW = "in_review"
    RESOLVED = "resolved"
    CLOSED = "closed"
    CANCELLED = "cancelled"


MOVES: dict[Status | None, tuple[Status, ...]] = {
    None: (Status.OPEN,),
    Status.OPEN: (Status.IN_PROGRESS, Status.BLOCKED, Status.CANCELLED),
    Status.IN_PROGRESS: (Status.OPEN, Status.BLOCKED, Status.IN_REVIEW, Status.RESOLVED, Status.CANCELLED),
    Status.BLOCKED: (Status.OPEN, Status.IN_PROGRESS, Status.CANCELLED),
    Status.IN_REVIEW: (Status.IN_PROGRESS, Status.RESOLVED, Status.CANCELLED),
    Status.RESOLVED: (Status.IN_PROGRESS, Status.CLOSED),
    Status.CLOSED: (),
    Status.CANCELLED: (),
}
"""The allowed transitions; None is the status of an untriaged ticket."""

FINAL = frozenset(status for status, onward in MOVES.items() if status and not onward)
"""Statuses without transitions."""

SETTLED = FINAL | {Status.RESOLVED}
"""Statuses in which a ticket does not block others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A row of the table `tickets`."""

    key: str
    type: TicketType
    title: str
    description: str
    status: Status | None
    priority: Priority | None
    assignee_id: str | None
    reporter_id: str
    team_id: str
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None
    verified_at: datetime | None
    verified_by: str | None
    approval_ref: str | None
    reason_code: ReasonCode | None
    reason_ref: str | None
    version: int


_CHOICES = {"type": TicketType, "status": Status, "priority": Priority, "reason_code": ReasonCode}
_BY_KEY = FixedSelect(select(tables.tickets).where(tables.tickets.c.key == bindparam("key")))


def ticket_of(row: dict[str, Any]) -> Ticket:
    """Return the ticket of a row."""
    choices = {name: row[name] and kind(row[name]) for name, kind in _CHOICES.items()}
    return Ticket(**row | choices | {"tags": tuple(row["tags"])})


def find_ticket(db: Connection, key: str) -> Ticket | None:
    """Return the ticket with that key, or None."""
    row = _BY_KEY.row(db, key=key)
    return None if row is None else ticket_of(row)
