"""Replay protection of the control API: each call is accepted once and expires soon after it was signed."""

from __future__ import annotations

from collections import OrderedDict

from companyos_shared.chassis.errors import CallExpiredError, CallReplayedError
from companyos_shared.wire.context import CONTROL_LIFETIME_S, CallContext
from companyos_shared.wire.once import wall_clock

MOST_REMEMBERED = 262_144
"""Number of nonces remembered. They expire by number, not by age, because the wall clock can be set back."""

_ROUNDING_S = 0.001
_TOLERANCE_S = 10.0
"""Maximum clock skew of the gateway into the future."""


class Replays:
    """Nonces of received control calls. Calls signed before the process started are rejected."""

    def __init__(self) -> None:
        self._started_at = wall_clock()
        self._seen: OrderedDict[str, None] = OrderedDict()

    def check(self, context: CallContext) -> None:
        """Raise CallExpiredError or CallReplayedError (401)."""
        now = wall_clock()
        self._started_at = min(self._started_at, now)
        if context.nonce is None or context.expires_at is None:
            raise CallExpiredError("A control call requires nonce and expires_at.")
        if context.nonce in self._seen:
            raise CallReplayedError
        if not now <= context.expires_at <= now + CONTROL_LIFETIME_S + _TOLERANCE_S:
            raise CallExpiredError
        if context.expires_at - CONTROL_LIFETIME_S < self._started_at - _ROUNDING_S:
            raise CallExpiredError("The call was signed before this process started.")
        self._seen[context.nonce] = None
        if len(self._seen) > MOST_REMEMBERED:
            self._seen.popitem(last=False)
