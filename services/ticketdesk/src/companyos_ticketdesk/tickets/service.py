"""Service functions that load, create and change tickets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update

from companyos_shared.framework import Call, check_version
from companyos_ticketdesk.tables import team_prefixes, tickets
from companyos_ticketdesk.tickets.model import SETTLED, Ticket, find_ticket
from companyos_ticketdesk.tickets.rules import (
    NothingToChangeError,
    TicketNotFoundError,
    UnknownTeamError,
    check_is_live,
    check_title,
    is_overdue,
)
from companyos_ticketdesk.tickets.schemas import NewTicket, PlannedChange, PlannedTicket, TicketChanges, TicketView

MAX_NAMED_TEAMS = 20
"""Maximum number of teams that the error for an unknown team lists."""


def load_ticket(call: Call, key: str) -> Ticket:
    """Return the ticket with that key; raises TicketNotFoundError (404)."""
    ticket = find_ticket(call.db, key)
    if ticket is None:
        raise TicketNotFoundError(f'no ticket has the key "{key}"')
    return ticket


def load_live_ticket(call: Call, key: str, if_match: int | None) -> Ticket:
    """Return a live ticket: one that is triaged and neither closed nor cancelled.

    Raises TicketNotFoundError (404), TicketUntriagedError or TicketClosedError (409), or StaleVersionError (412).
    """
    ticket = load_ticket(call, key)
    check_version(if_match, ticket.version)
    check_is_live(ticket)
    return ticket


def change_ticket(call: Call, ticket: Ticket, **columns: Any) -> Ticket:
    """Write changed values and increment the version; equal values change nothing."""
    different = {name: value for name, value in columns.items() if getattr(ticket, name) != value}
    return touch_ticket(call, ticket, **different) if different else ticket


def touch_ticket(call: Call, ticket: Ticket, **columns: Any) -> Ticket:
    """Increment the version of a ticket and write its columns, none if only other rows such as a link have changed."""
    stamped = columns | {"updated_at": call.now, "version": ticket.version + 1}
    call.db.execute(update(tickets).where(tickets.c.key == ticket.key).values(stamped))
    return load_ticket(call, ticket.key)


def view_ticket(ticket: Ticket, now: datetime) -> TicketView:
    """Return the response schema of a ticket at `now`."""
    return TicketView(**ticket_fields(ticket, now))


def ticket_fields(ticket: Ticket, now: datetime) -> dict[str, Any]:
    """Return the fields of a ticket's response schema at `now`."""
    fields = {name: getattr(ticket, name) for name in Ticket.__dataclass_fields__}
    return {**fields, "is_overdue": is_overdue(ticket, now), "verified": ticket.verified_at is not None}


def create_ticket(call: Call, body: NewTicket) -> Ticket:
    """Create an untriaged ticket with the next number of its team."""
    check_title(body.title)
    prefix = _prefix_of(call, body.team_id)
    key = f"{prefix}-{call.next_number(f'tickets:{prefix}')}"
    stamped = {"key": key, "reporter_id": call.person, "created_at": call.now, "updated_at": call.now, "version": 1}
    call.db.execute(insert(tickets), body.model_dump() | stamped)
    return load_ticket(call, key)


def update_ticket(call: Call, key: str, changes: TicketChanges, *, if_match: int | None) -> Ticket:
    """Change fields of a live ticket."""
    ticket = load_live_ticket(call, key, if_match)
    named = changes.model_dump(exclude_none=True)
    if not named:
        raise NothingToChangeError(f"at least one of {', '.join(TicketChanges.model_fields)} is required")
    check_title(changes.title)
    if changes.tags is not None:
        named["tags"] = tuple(changes.tags)
    return change_ticket(call, ticket, **named)


def apply_ticket(call: Call, payload: dict[str, Any]) -> None:
    """Insert a colleague's scheduled ticket."""
    planned = PlannedTicket.model_validate(payload)
    arrived = {"created_at": call.now, "updated_at": call.now}
    call.db.execute(insert(tickets), planned.model_dump() | arrived)


def apply_change(call: Call, payload: dict[str, Any]) -> None:
    """Apply a colleague's scheduled change, unless the ticket is settled."""
    planned = PlannedChange.model_validate(payload)
    ticket = find_ticket(call.db, planned.ticket_key)
    if ticket is not None and ticket.status not in SETTLED:
        change_ticket(call, ticket, **planned.model_dump(exclude={"ticket_key"}, exclude_none=True))


def _prefix_of(call: Call, team_id: str) -> str:
    rows = call.db.execute(select(team_prefixes).order_by(team_prefixes.c.team_id))
    prefixes = {row.team_id: row.prefix for row in rows}
    if team_id not in prefixes:
        accepted = f"one of {', '.join(prefixes)}" if len(prefixes) <= MAX_NAMED_TEAMS else "the id of a team"
        raise UnknownTeamError(f'team_id must be {accepted}; got "{team_id}"')
    return str(prefixes[team_id])
