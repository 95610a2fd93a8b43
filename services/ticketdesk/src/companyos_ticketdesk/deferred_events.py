"""Scheduled events of colleagues that wait until a ticket is verified."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from companyos_shared.framework import Call, EventHandler, EventHandlers
from companyos_ticketdesk.tickets.model import SETTLED, find_ticket

KIND = "once_verified"
"""Kind of events that wait for verification."""

LOOK_AGAIN = timedelta(minutes=20)
"""Interval at which a waiting event checks the ticket."""


def schedule_once_verified(call: Call, due_at: datetime, key: str, kind: str, data: dict[str, Any]) -> None:
    """Schedule an event at a time, or a few minutes after the ticket is verified if that is later."""
    call.schedule(due_at, KIND, {"key": key, "kind": kind, "data": data})


def once_verified(event_handlers: EventHandlers) -> EventHandler:
    """Return the handler that runs a waiting event once its ticket is verified, and otherwise checks again later.

    If the ticket is settled without verification, the event is dropped.
    """

    def apply(call: Call, payload: dict[str, Any]) -> None:
        ticket = find_ticket(call.db, payload["key"])
        if ticket is None or (ticket.verified_at is None and ticket.status in SETTLED):
            return
        if ticket.verified_at is None:
            call.schedule(call.now + LOOK_AGAIN, KIND, payload)
        else:
            event_handlers[payload["kind"]](call, payload["data"])

    return apply
