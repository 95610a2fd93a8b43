"""Schemas of transitions and history."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from companyos_shared.choices import Choice
from companyos_shared.framework import RequestModel, ResponseModel, UtcTime, example
from companyos_shared.wire.company import ReasonCode
from companyos_ticketdesk.tickets.model import Status
from companyos_ticketdesk.tickets.schemas import REF_CHARS


class Move(RequestModel):
    """A transition to a status. `closed` and `cancelled` are final and require a reason."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"to": "in_progress"}, {"to": "closed", "reason_code": "completed", "reason_ref": "APR-208"}]
        }
    )

    to: Status = Field(description="New status.")
    reason_code: ReasonCode | None = Field(
        None, description="Required for closed and cancelled, accepted for blocked; requires reason_ref."
    )
    reason_ref: str | None = Field(
        None,
        max_length=REF_CHARS,
        description="ID of the object behind the reason, such as a policy, record or person.",
    )


class HistoryEvent(Choice):
    """Kind of a history entry."""

    TRANSITION = "transition"
    LINK_REMOVED = "link_removed"


class HistoryEntry(ResponseModel):
    """A history entry: a transition, or a link removed from the ticket."""

    model_config = example(
        event="transition",
        at="2026-03-02T09:15:00Z",
        by="p-ilse",
        from_status="open",
        to_status="in_progress",
        reason_code=None,
        reason_ref=None,
        link=None,
        justification=None,
    )

    event: HistoryEvent
    at: datetime
    by: str
    from_status: Status | None
    to_status: Status | None
    reason_code: ReasonCode | None
    reason_ref: str | None
    link: str | None = Field(description="The removed link, as `OPS-1 blocks OPS-2`.")
    justification: str | None = Field(description="Justification of the removal.")


class TransitionSeed(RequestModel):
    """A past transition in a seed."""

    id: str
    ticket_key: str
    at: UtcTime
    by: str
    from_status: Status | None = None
    to_status: Status
    reason_code: ReasonCode | None = None
    reason_ref: str | None = None


class PlannedTransition(RequestModel):
    """A scheduled transition of a colleague, applied if it is allowed at that time."""

    id: str
    ticket_key: str
    by: str
    to_status: Status
    reason_code: ReasonCode | None = None
    reason_ref: str | None = None
