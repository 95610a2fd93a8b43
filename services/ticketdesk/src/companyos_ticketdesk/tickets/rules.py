"""What may be asked of a ticket at all: that it is there, triaged and not at its end."""

from __future__ import annotations

from datetime import datetime

from companyos_shared.chassis import Problem
from companyos_ticketdesk.tickets.model import FINAL, SETTLED, Ticket


class TicketNotFound(Problem):
    status, code, title = 404, "ticket-not-found", "There is no such ticket"


class TicketUntriaged(Problem):
    status, code, title = 409, "ticket-untriaged", "The ticket has not been triaged"


class TicketClosed(Problem):
    status, code, title = 409, "ticket-closed", "The ticket is closed or cancelled for good"


class TeamUnknown(Problem):
    status, code, title = 422, "team-unknown", "The team has no tickets of its own"


class TitleBlank(Problem):
    status, code, title = 422, "title-blank", "The title is blank"


class NothingToChange(Problem):
    status, code, title = 422, "nothing-to-change", "The request names nothing to change"


def check_is_triaged(ticket: Ticket) -> None:
    """Raise TicketUntriaged (409) while the ticket has no status."""
    if ticket.status is None:
        raise TicketUntriaged(f"{ticket.key} has no status.")


def check_is_live(ticket: Ticket) -> None:
    """Raise TicketUntriaged or TicketClosed (409) unless the ticket is in work."""
    check_is_triaged(ticket)
    if ticket.status in FINAL:
        raise TicketClosed(f"{ticket.key} is {ticket.status}.")


def check_title(title: str | None) -> None:
    """Raise TitleBlank (422) for a title of white space; no title at all is fine."""
    if title is not None and not title.strip():
        raise TitleBlank


def is_overdue(ticket: Ticket, now: datetime) -> bool:
    """Return whether the due time has passed and the ticket still holds somebody up."""
    return ticket.due_at is not None and ticket.due_at < now and ticket.status not in SETTLED
