"""What colleagues put off until a ticket is verified."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from companyos_shared.chassis import Call, Happening, Happenings
from companyos_ticketdesk.tickets.model import SETTLED, find_ticket

KIND = "once_verified"
"""How such a happening is called, whatever it is that happens."""

LOOK_AGAIN = timedelta(minutes=20)
"""How often whoever waits looks whether the ticket is verified."""


def schedule_once_verified(call: Call, due_at: datetime, key: str, kind: str, data: dict[str, Any]) -> None:
    """Let something happen at a time, or some minutes after the ticket is verified where that is later."""
    call.schedule(due_at, KIND, {"key": key, "kind": kind, "data": data})


def once_verified(happenings: Happenings) -> Happening:
    """Return what lets one of the others happen where its ticket is verified, and else looks again later.

    Where the ticket is settled unverified, nothing happens.
    """

    def apply(call: Call, payload: dict[str, Any]) -> None:
        ticket = find_ticket(call.db, payload["key"])
        if ticket is None or (ticket.verified_at is None and ticket.status in SETTLED):
            return
        if ticket.verified_at is None:
            call.schedule(call.now + LOOK_AGAIN, KIND, payload)
        else:
            happenings[payload["kind"]](call, payload["data"])

    return apply
