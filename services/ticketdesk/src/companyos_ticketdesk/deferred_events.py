"""Scheduled events of colleagues that wait until a ticket is verified."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from companyos_shared.framework import Call, EventHandler, EventHandlers
from companyos_ticketdesk.tickets.model import SETTLED, find_ticket

KIND = "once_verified"
"""Kind of events that wait for verification."""

DELAY = timedelta(minutes=20)
"""Time between the verification and the events that wait for it."""


def schedule_once_verified(call: Call, due_at: datetime, key: str, kind: str, data: dict[str, Any]) -> None:
    """Schedule an event at `due_at`, or DELAY after the verification of the ticket if it is not verified by then."""
    call.schedule(due_at, KIND, {"key": key, "kind": kind, "data": data})


def wake_events(call: Call, key: str) -> None:
    """Schedule the events that are suspended until the verification of a ticket."""
    call.wake(KIND, key, call.now + DELAY)


def once_verified(event_handlers: EventHandlers) -> EventHandler:
    """Return the handler that applies an event if its ticket is verified, and otherwise suspends it until verification.

    If the ticket is settled without verification, the event is dropped.
    """

    def apply(call: Call, payload: dict[str, Any]) -> None:
        ticket = find_ticket(call.db, payload["key"])
        if ticket is None or (ticket.verified_at is None and ticket.status in SETTLED):
            return
        if ticket.verified_at is None:
            call.suspend(KIND, payload)
        else:
            event_handlers[payload["kind"]](call, payload["data"])

    return apply
