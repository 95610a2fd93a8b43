"""Typed views of the rows of services, and the names and statuses that rubrics share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companyos_shared.wire.control import Row

TICKETDESK = "ticketdesk"
DATAHUB = "datahub"
APPROVALFLOW = "approvalflow"

BOOKKEEPING_COLUMNS = frozenset({"version", "updated_at"})
"""Columns that change along with others and have no meaning of their own."""

ACTIVE_REQUEST_STATUSES = frozenset({"pending", "info_requested", "escalated", "approved"})
"""Statuses of an active request: waiting or approved."""

FIRST_ERROR_STATUS = 400
"""Lowest HTTP status of a refused call."""

FINAL_TICKET_STATUSES = frozenset({"closed", "cancelled"})
FINAL_REQUEST_STATUSES = frozenset({"cancelled", "withdrawn"})


@dataclass(frozen=True, slots=True)
class TicketView:
    """A ticket."""

    key: str
    status: str | None
    priority: str | None
    assignee_id: str | None
    verified_at: datetime | None
    verified_by: str | None
    approval_ref: str | None
    reason_code: str | None
    reason_ref: str | None


MISSING_TICKET = TicketView("", None, None, None, None, None, None, None, None)
"""View of a ticket that does not exist."""


@dataclass(frozen=True, slots=True)
class MetricView:
    """A metric."""

    id: str
    value: float
    as_of: datetime


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request for an approval."""

    id: str
    type_key: str
    subject: str
    ticket_ref: str | None
    requester_id: str
    approver_id: str
    status: str
    fields: Mapping[str, Any]
    submitted_at: datetime
    reason_code: str | None = None
    reason_ref: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionView:
    """Typed view of a decision row."""

    request_id: str
    kind: str
    by: str
    reason_ref: str | None = None


@dataclass(frozen=True, slots=True)
class DelegationView:
    """A delegation."""

    from_id: str
    to_id: str
    type_keys: tuple[str, ...]
    limit_cents: int | None
    starts_at: datetime
    ends_at: datetime
    revoked_at: datetime | None

    def authorizes(self, type_key: str, amount_cents: int, now: datetime) -> bool:
        """Return whether the delegation authorizes a decision about the amount at `now`."""
        in_force = self.starts_at <= now < self.ends_at and (self.revoked_at is None or now < self.revoked_at)
        in_scope = not self.type_keys or type_key in self.type_keys
        return in_force and in_scope and (self.limit_cents is None or amount_cents <= self.limit_cents)


def parse_time(text: str) -> datetime:
    """Parse a timestamp of a row."""
    return datetime.fromisoformat(text)


def parse_ticket(row: Row) -> TicketView:
    """Parse a row of TicketDesk's `tickets`."""
    return TicketView(
        key=row["key"],
        status=row["status"],
        priority=row["priority"],
        assignee_id=row["assignee_id"],
        verified_at=_parse_time_or_none(row["verified_at"]),
        verified_by=row["verified_by"],
        approval_ref=row["approval_ref"],
        reason_code=row["reason_code"],
        reason_ref=row["reason_ref"],
    )


def is_done(row: Row) -> bool:
    """Return whether a row of TicketDesk's `checklist_items` is done."""
    return row["done_at"] is not None and row["done_by"] is not None


def parse_metric(row: Row) -> MetricView:
    """Parse a row of DataHub's `metrics`."""
    return MetricView(id=row["id"], value=row["value"], as_of=parse_time(row["as_of"]))


def parse_request(row: Row) -> RequestView:
    """Parse a row of ApprovalFlow's `requests`."""
    return RequestView(
        id=row["id"],
        type_key=row["type_key"],
        subject=row["subject"],
        ticket_ref=row["ticket_ref"],
        requester_id=row["requester_id"],
        approver_id=row["approver_id"],
        status=row["status"],
        fields=row["fields"],
        submitted_at=parse_time(row["submitted_at"]),
        reason_code=row.get("reason_code"),
        reason_ref=row.get("reason_ref"),
    )


def parse_decision(row: Row) -> DecisionView:
    """Parse a row of ApprovalFlow's `decisions`."""
    return DecisionView(request_id=row["request_id"], kind=row["kind"], by=row["by"], reason_ref=row.get("reason_ref"))


def parse_delegation(row: Row) -> DelegationView:
    """Parse a row of ApprovalFlow's `delegations`."""
    return DelegationView(
        from_id=row["from_id"],
        to_id=row["to_id"],
        type_keys=tuple(row["type_keys"]),
        limit_cents=row["limit_cents"],
        starts_at=parse_time(row["starts_at"]),
        ends_at=parse_time(row["ends_at"]),
        revoked_at=_parse_time_or_none(row["revoked_at"]),
    )


def _parse_time_or_none(text: str | None) -> datetime | None:
    return None if text is None else parse_time(text)
