"""Which transitions a ticket may take, and the reason that each requires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from companyos_shared.chassis import Problem
from companyos_ticketdesk.tickets.model import MOVES, ReasonCode, Status, Ticket
from companyos_ticketdesk.tickets.rules import check_is_live

NEEDS_REASON = frozenset({Status.CLOSED, Status.CANCELLED})
"""Goals that are refused without a reason."""

TAKES_REASON = NEEDS_REASON | {Status.BLOCKED}
"""Goals that may carry a reason at all."""

WAITS_FOR_BLOCKERS = frozenset({Status.RESOLVED, Status.CLOSED})
"""Goals out of reach while another ticket blocks this one, from wherever it stands."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why: a code, and the id of the policy, record or person behind it."""

    code: ReasonCode
    ref: str


def reason_of(code: ReasonCode | None, ref: str | None) -> Reason | None:
    """Return the reason where both halves are given and the reference is not blank."""
    named = ref.strip() if ref else ""
    return Reason(code, named) if code and named else None


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
    """Return whether a ticket that others block may not make this move; giving it up is always possible."""
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
