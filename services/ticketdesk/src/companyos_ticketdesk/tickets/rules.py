"""General rules of tickets: existence, triage and final statuses."""

from __future__ import annotations

from datetime import datetime

from companyos_shared.framework import ServiceError, StaleVersionError
from companyos_ticketdesk.tickets.model import FINAL, SETTLED, Status, Ticket


class TicketNotFoundError(ServiceError):
    status, code, title = 404, "ticket-not-found", "Ticket not found"


class TicketUntriagedError(ServiceError):
    status, code, title = 409, "ticket-untriaged", "Ticket not triaged"


class TicketClosedError(ServiceError):
    status, code, title = 409, "ticket-closed", "Ticket is final"


LIVE_TICKET_ERRORS = (TicketNotFoundError, TicketUntriagedError, TicketClosedError, StaleVersionError)
"""Errors of a write that requires a live ticket."""


class UnknownTeamError(ServiceError):
    status, code, title = 422, "unknown-team", "Team without tickets"


class TitleBlankError(ServiceError):
    status, code, title = 422, "title-blank", "Title is blank"


class NothingToChangeError(ServiceError):
    status, code, title = 422, "nothing-to-change", "Nothing to change"


def check_is_triaged(ticket: Ticket) -> None:
    """Raise TicketUntriagedError (409) for a ticket without status."""
    if ticket.status is None:
        raise TicketUntriagedError(f"{ticket.key} is untriaged and can only change to {Status.OPEN}")


def check_is_live(ticket: Ticket) -> None:
    """Raise TicketUntriagedError or TicketClosedError (409) unless the ticket is live."""
    check_is_triaged(ticket)
    if ticket.status in FINAL:
        raise TicketClosedError(f"{ticket.key} is {ticket.status}, which is final")


def check_title(title: str | None) -> None:
    """Raise TitleBlankError (422) for a title of whitespace; None is allowed."""
    if title is not None and not title.strip():
        raise TitleBlankError("title must not be blank")


def is_overdue(ticket: Ticket, now: datetime) -> bool:
    """Return whether the due time has passed and the ticket is not settled."""
    return ticket.due_at is not None and ticket.due_at < now and ticket.status not in SETTLED
