"""Schemas of tickets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import Field, JsonValue

from companyos_shared.framework import RequestModel, ResponseModel, UtcTime, example
from companyos_shared.wire.company import ReasonCode
from companyos_ticketdesk.tickets.model import Priority, Status, TicketType

TITLE_CHARS = 200
DESCRIPTION_CHARS = 4000
TAG_CHARS = 40
MAX_TAGS = 10
REF_CHARS = 120

TicketKey = Annotated[str, Path(max_length=32, examples=["OPS-1042"], description="Key of the ticket.")]
Title = Annotated[str, Field(min_length=1, max_length=TITLE_CHARS)]
Tag = Annotated[str, Field(min_length=1, max_length=TAG_CHARS)]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS)]

DUE = "Due time in UTC, such as 2026-03-06T17:00:00Z."

EXAMPLE_TICKET: dict[str, JsonValue] = {
    "key": "OPS-1042",
    "type": "request",
    "title": "Replace the badge reader at the north entrance",
    "description": "It refuses every second badge since Monday.",
    "status": "in_progress",
    "priority": "medium",
    "assignee_id": "p-ilse",
    "reporter_id": "p-omar",
    "team_id": "t-facilities",
    "tags": ["badge"],
    "created_at": "2026-02-27T13:05:00Z",
    "updated_at": "2026-03-02T09:15:00Z",
    "due_at": "2026-03-06T17:00:00Z",
    "is_overdue": False,
    "verified": True,
    "verified_at": "2026-03-02T09:15:00Z",
    "verified_by": "p-omar",
    "approval_ref": None,
    "reason_code": None,
    "reason_ref": None,
    "version": 4,
}


class NewTicket(RequestModel):
    """A ticket to create. It starts untriaged, without a status."""

    model_config = example(title="Replace the badge reader", type="request", team_id="t-facilities")

    title: Title = Field(description="Short summary.")
    type: TicketType = Field(description="Kind of work.")
    team_id: str = Field(max_length=64, examples=["t-facilities"], description="ID of the team that owns the ticket.")
    description: str = Field("", max_length=DESCRIPTION_CHARS, description="Details.")
    priority: Priority | None = Field(None, description="Urgency.")
    due_at: UtcTime | None = Field(None, description=DUE)
    tags: Tags = Field([], description="Keywords.")


class TicketChanges(RequestModel):
    """The fields to change; omitted or null fields stay unchanged."""

    model_config = example(priority="high", tags=["badge", "north"])

    title: Title | None = Field(None, description="Short summary.")
    description: str | None = Field(None, max_length=DESCRIPTION_CHARS, description="Details.")
    priority: Priority | None = Field(None, description="Urgency.")
    due_at: UtcTime | None = Field(None, description=DUE)
    tags: Tags | None = Field(None, description="Replace the current tags.")
    type: TicketType | None = Field(None, description="Kind of work.")


class TicketView(ResponseModel):
    """A ticket with all its fields."""

    model_config = example(**EXAMPLE_TICKET)

    key: str
    type: TicketType
    title: str
    description: str
    status: Status | None = Field(description="Null: untriaged, no status yet.")
    priority: Priority | None
    assignee_id: str | None
    reporter_id: str
    team_id: str = Field(description="Team that owns the ticket.")
    tags: list[str]
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None
    is_overdue: bool = Field(
        description="The due time has passed, and the ticket is not resolved, closed or cancelled."
    )
    verified: bool
    verified_at: datetime | None
    verified_by: str | None
    approval_ref: str | None = Field(description="ID of the linked approval.")
    reason_code: ReasonCode | None = Field(description="Why the ticket is blocked, closed or cancelled.")
    reason_ref: str | None = Field(
        description="ID of the object behind the reason, such as a policy, record or person."
    )
    version: int = Field(
        description="Increases with each change of these fields or the checklist; pass it as `if_match`."
    )


class PlannedTicket(RequestModel):
    """A scheduled ticket of a colleague."""

    key: str = Field(pattern=r"^[A-Z][A-Z0-9]*-[1-9][0-9]*$")
    type: TicketType
    title: str
    description: str
    status: Status | None = None
    priority: Priority | None = None
    assignee_id: str | None = Field(None, description="Not validated: old tickets may name unknown people.")
    reporter_id: str
    team_id: str
    tags: list[str] = []
    due_at: UtcTime | None = None
    verified_at: UtcTime | None = None
    verified_by: str | None = None
    approval_ref: str | None = None
    reason_code: ReasonCode | None = None
    reason_ref: str | None = None
    version: int = Field(1, ge=1)


class PlannedChange(RequestModel):
    """A scheduled change of a colleague, skipped if the ticket is settled; absent fields stay unchanged."""

    ticket_key: str
    priority: Priority | None = None
    due_at: UtcTime | None = None
    tags: tuple[str, ...] | None = None


class TicketSeed(PlannedTicket):
    """A ticket in a seed."""

    created_at: UtcTime
    updated_at: UtcTime
