"""Rules of transitions and their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from companyos_shared.framework import ServiceError
from companyos_shared.wire.company import ReasonCode
from companyos_ticketdesk.tickets.model import MOVES, Status, Ticket
from companyos_ticketdesk.tickets.rules import check_is_live

NEEDS_REASON = frozenset({Status.CLOSED, Status.CANCELLED})
"""Target statuses that require a reason."""

TAKES_REASON = NEEDS_REASON | {Status.BLOCKED}
"""Target statuses that accept a reason."""

WAITS_FOR_BLOCKERS = frozenset({Status.RESOLVED, Status.CLOSED})
"""Target statuses that are not allowed while another ticket blocks this one."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason: a code, and the id of a related policy, record or person."""

    code: ReasonCode
    ref: str


def reason_of(code: ReasonCode | None, ref: str | None) -> Reason | None:
    """Return the reason, or None unless code and a non-blank reference exist."""
    named = ref.strip() if ref else ""
    return Reason(code, named) if code and named else None


class TransitionNotAllowedError(ServiceError):
    status, code, title = 409, "transition-not-allowed", "Transition not allowed"


class TicketBlockedError(ServiceError):
    status, code, title = 409, "ticket-blocked", "Ticket is blocked"


class ReasonMissingError(ServiceError):
    status, code, title = 422, "reason-missing", "Reason missing"


class ReasonNotAcceptedError(ServiceError):
    status, code, title = 422, "reason-not-accepted", "Reason not accepted"


def check_may_move(ticket: Ticket, to: Status, *, blockers: Sequence[str]) -> None:
    """Check that a transition is allowed.

    Raises TicketUntriagedError, TicketClosedError, TransitionNotAllowedError or TicketBlockedError (409).
    """
    if to not in MOVES[ticket.status]:
        check_is_live(ticket)
        allowed = ", ".join(allowed_moves(ticket, blockers=blockers))
        raise TransitionNotAllowedError(
            f"{ticket.key} cannot change from {ticket.status} to {to}; allowed: {allowed or 'none'}"
        )
    if blockers and is_held_up(ticket.status, to):
        verb = "blocks" if len(blockers) == 1 else "block"
        raise TicketBlockedError(f"{ticket.key} cannot change to {to} while {', '.join(blockers)} {verb} it")


def is_held_up(status: Status | None, to: Status) -> bool:
    """Return whether blocking tickets prevent this transition; they never prevent cancellation."""
    return to in WAITS_FOR_BLOCKERS or (status is Status.BLOCKED and to is not Status.CANCELLED)


def allowed_moves(ticket: Ticket, *, blockers: Sequence[str]) -> list[Status]:
    """Return the allowed target statuses, in the order of the table."""
    return [to for to in MOVES[ticket.status] if not (blockers and is_held_up(ticket.status, to))]


def check_reason(to: Status, reason: Reason | None, *, is_given: bool) -> None:
    """Raise ReasonMissingError or ReasonNotAcceptedError (422). `is_given` means that code or reference was sent."""
    if to not in TAKES_REASON and is_given:
        raise ReasonNotAcceptedError(f"a transition to {to} does not accept reason_code and reason_ref")
    if reason is None and (to in NEEDS_REASON or is_given):
        raise ReasonMissingError(f"a transition to {to} requires reason_code and reason_ref")
