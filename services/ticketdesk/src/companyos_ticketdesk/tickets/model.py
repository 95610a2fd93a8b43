"""What a ticket is: its states, the moves between them, and its row as a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from companyos_shared.choices import Choice
from companyos_ticketdesk import tables


class TicketType(Choice):
    """What kind of work a ticket is."""

    TASK = "task"
    BUG = "bug"
    INCIDENT = "incident"
    REQUEST = "request"
    CHANGE = "change"


class Priority(Choice):
    """How urgent a ticket is; a ticket without one has not been prioritised."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Status(Choice):
    """Where a ticket stands; a ticket without one was never triaged."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    IN_REVIEW = "in_review"
    RESOLVED = "resolved"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class ReasonCode(Choice):
    """Why a ticket was blocked, closed or cancelled."""

    COMPLETED = "completed"
    DUPLICATE = "duplicate"
    REQUIREMENT_NOT_MET = "requirement_not_met"
    POLICY_VIOLATION = "policy_violation"
    NOT_ENTITLED = "not_entitled"
    FRAUD_SUSPECTED = "fraud_suspected"
    NO_APPROVER = "no_approver"
    DATA_UNAVAILABLE = "data_unavailable"
    WITHDRAWN = "withdrawn"


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
"""The one table of moves; a null status is a ticket that waits for triage."""

FINAL = frozenset(status for status, onward in MOVES.items() if status and not onward)
"""States that nothing leads out of."""

SETTLED = FINAL | {Status.RESOLVED}
"""States in which a ticket holds up no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One row of the tickets table."""

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


_BY_KEY = select(tables.tickets).where(tables.tickets.c.key == bindparam("key"))


def ticket_of(row: Row[Any]) -> Ticket:
    """Return a row of the tickets table as a value."""
    columns = dict(row._mapping)
    return Ticket(
        **columns
        | {
            "type": TicketType(row.type),
            "status": row.status and Status(row.status),
            "priority": row.priority and Priority(row.priority),
            "reason_code": row.reason_code and ReasonCode(row.reason_code),
            "tags": tuple(row.tags),
        }
    )


def find_ticket(db: Connection, key: str) -> Ticket | None:
    """Return the ticket of that key."""
    row = db.execute(_BY_KEY, {"key": key}).one_or_none()
    return None if row is None else ticket_of(row)
