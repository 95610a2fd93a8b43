"""What a transition carries beside its goal: a typed reason."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_ticketdesk.tickets.model import ReasonCode, Status

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
