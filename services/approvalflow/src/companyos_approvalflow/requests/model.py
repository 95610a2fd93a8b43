"""Requests, their statuses with the allowed transitions, and their queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select

from companyos_approvalflow import tables
from companyos_approvalflow.approval_types.model import Fields
from companyos_shared.choices import Choice
from companyos_shared.framework import FixedSelect

ID_PREFIX = "APR-"

SHORTEST_JUSTIFICATION = 20
"""Minimum length of a justification that an approver accepts, without surrounding whitespace."""


class RequestStatus(Choice):
    """Status of a request. `escalated` waits for another approver than the original one."""

    DRAFT = "draft"
    PENDING = "pending"
    INFO_REQUESTED = "info_requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    ESCALATED = "escalated"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


_ENDED_BY_PEOPLE = frozenset({RequestStatus.CANCELLED, RequestStatus.WITHDRAWN})
_DECIDED = frozenset({RequestStatus.INFO_REQUESTED, RequestStatus.APPROVED, RequestStatus.REJECTED})
_FROM_WAITING = _ENDED_BY_PEOPLE | _DECIDED | {RequestStatus.ESCALATED, RequestStatus.EXPIRED}

MOVES: dict[RequestStatus, frozenset[RequestStatus]] = {
    RequestStatus.DRAFT: _ENDED_BY_PEOPLE | {RequestStatus.PENDING},
    RequestStatus.PENDING: _FROM_WAITING,
    RequestStatus.ESCALATED: _FROM_WAITING,
    RequestStatus.INFO_REQUESTED: _ENDED_BY_PEOPLE | {RequestStatus.PENDING, RequestStatus.EXPIRED},
    RequestStatus.APPROVED: frozenset(),
    RequestStatus.REJECTED: frozenset(),
    RequestStatus.CANCELLED: frozenset(),
    RequestStatus.WITHDRAWN: frozenset(),
    RequestStatus.EXPIRED: frozenset(),
}
"""The allowed transitions; a status without any is final."""

FINAL = frozenset(status for status, moves in MOVES.items() if not moves)
WAITING = frozenset({RequestStatus.PENDING, RequestStatus.ESCALATED})
"""Waiting for an approver's decision."""
OPEN = WAITING | {RequestStatus.INFO_REQUESTED}
"""Submitted and not final."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request for approval. The age of its evidence is measured at `submitted_at`."""

    id: str
    type_key: str
    subject: str
    ticket_ref: str | None
    requester_id: str
    approver_id: str
    status: RequestStatus
    fields: Fields
    justification: str
    submitted_at: datetime
    decided_at: datetime | None
    expires_at: datetime
    reason_code: str | None
    reason_ref: str | None
    version: int


_COLUMNS = tables.requests.c
_BY_ID = FixedSelect(select(tables.requests).where(_COLUMNS.id == bindparam("id")))


def request_of_row(row: Mapping[str, Any]) -> Request:
    """Return the request of a row."""
    return Request(**{**row, "status": RequestStatus(row["status"])})


def read_request(db: Connection, request_id: str) -> Request | None:
    """Return the request with that id, or None."""
    row = _BY_ID.row(db, id=request_id)
    return None if row is None else request_of_row(row)


def read_open_request(db: Connection, type_key: str, subject: str) -> Request | None:
    """Return the open request of that type on that subject, or None."""
    columns = tables.requests.c
    statement = select(tables.requests).where(
        columns.type_key == type_key, columns.subject == subject, columns.status.in_(sorted(OPEN))
    )
    row = db.execute(statement.order_by(columns.id).limit(1)).one_or_none()
    return None if row is None else request_of_row(row._asdict())


def insert_request(db: Connection, request: Request) -> None:
    """Insert a request."""
    db.execute(tables.requests.insert(), asdict(request))


def update_request(db: Connection, request: Request, **changed: object) -> Request:
    """Update columns of a request, increment its version and return it."""
    values = {**changed, "version": request.version + 1}
    db.execute(tables.requests.update().where(tables.requests.c.id == request.id).values(**values))
    return replace(request, **values)  # type: ignore[arg-type]
