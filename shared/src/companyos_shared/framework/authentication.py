"""Authentication of the gateway by the signature of its calls."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Sequence

from pydantic import ValidationError

from companyos_shared.framework.errors import (
    CallExpiredError,
    CallReplayedError,
    InvalidContextError,
    UnsignedCallError,
)
from companyos_shared.wire.context import CONTEXT_HEADER, CONTROL_LIFETIME_S, SIGNATURE_HEADER, CallContext, sign
from companyos_shared.wire.nonces import wall_clock


def check_signature(
    key: bytes, *, audience: str, method: str, target: str, body: bytes, headers: Sequence[tuple[str, str]]
) -> CallContext:
    """Return the context of a signed call; header names are lower case.

    Raises UnsignedCallError (401) or InvalidContextError (400).
    """
    values = dict(headers)
    context, signature = values.get(CONTEXT_HEADER), values.get(SIGNATURE_HEADER)
    if context is None or signature is None:
        raise UnsignedCallError
    expected = sign(key, audience=audience, method=method, target=target, body=body, context=context, headers=headers)
    if not hmac.compare_digest(signature.encode(), expected.encode()):
        raise UnsignedCallError("The signature does not match the call.")
    try:
        return CallContext.model_validate_json(context)
    except ValidationError as error:
        raise InvalidContextError from error


MAX_REMEMBERED = 262_144
"""Number of nonces stored. The oldest nonce is evicted by count, not by age, because the wall clock can be set back."""

_ROUNDING_S = 0.001
_TOLERANCE_S = 10.0
"""Maximum clock skew of the gateway into the future."""


class ReplayProtection:
    """Rejects control calls that were already received, have expired or were signed before the process started."""

    def __init__(self) -> None:
        self._started_at = wall_clock()
        self._seen: OrderedDict[str, None] = OrderedDict()

    def check(self, context: CallContext) -> None:
        """Store the nonce of a control call; raises CallExpiredError or CallReplayedError (401)."""
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
        if len(self._seen) > MAX_REMEMBERED:
            self._seen.popitem(last=False)
