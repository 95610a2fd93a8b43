"""Which way a ticket may go: the table of moves, what blocks it, and the reasons that an end needs."""

from __future__ import annotations

from collections.abc import Sequence

from companyos_shared.chassis import Problem
from companyos_ticketdesk.tickets.model import MOVES, Status, Ticket
from companyos_ticketdesk.tickets.rules import check_is_live
from companyos_ticketdesk.workflow.model import NEEDS_REASON, TAKES_REASON, WAITS_FOR_BLOCKERS, Reason


class TransitionNotAllowed(Problem):
    status, code, title = 409, "transition-not-allowed", "The ticket cannot go there from where it stands"


class TicketBlocked(Problem):
    status, code, title = 409, "ticket-blocked", "Another ticket that is not settled blocks this one"


class ReasonMissing(Problem):
    status, code, title = 422, "reason-missing", "The transition lacks a reason code with a reference"


class ReasonNotTaken(Problem):
    status, code, title = 422, "reason-not-taken", "This transition carries no reason"


def check_may_move(ticket: Ticket, to: Status, *, blockers: Sequence[str]) -> None:
    """Raise TicketUntriaged, TicketClosed, TransitionNotAllowed or TicketBlocked (409) unless the way is free."""
    if to not in MOVES[ticket.status]:
        check_is_live(ticket)
        raise TransitionNotAllowed(f"{ticket.key} is {ticket.status}; {to} does not follow from there.")
    if blockers and is_held_up(ticket.status, to):
        raise TicketBlocked(f"{ticket.key} is blocked by {', '.join(blockers)}.")


def is_held_up(status: Status | None, to: Status) -> bool:
    """Say whether a ticket that others block may not make this move; giving it up is always possible."""
    return to in WAITS_FOR_BLOCKERS or (status is Status.BLOCKED and to is not Status.CANCELLED)


def allowed_moves(ticket: Ticket, *, blockers: Sequence[str]) -> list[Status]:
    """Return where the ticket may go now, in the order of the table."""
    return [to for to in MOVES[ticket.status] if not (blockers and is_held_up(ticket.status, to))]


def check_reason(to: Status, reason: Reason | None, *, is_given: bool) -> None:
    """Raise ReasonMissing or ReasonNotTaken (422); `is_given` says that at least one half of a reason came."""
    if to not in TAKES_REASON and is_given:
        raise ReasonNotTaken(f"A transition to {to} carries no reason.")
    if reason is None and (to in NEEDS_REASON or is_given):
        raise ReasonMissing(f"A transition to {to} came without a whole reason.")
