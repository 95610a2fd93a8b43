"""Signed headers of calls to a service. Every context contains the lease generation, control calls nonce and expiry."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_shared.wire.context import (
    CONTEXT_HEADER,
    CONTROL_LIFETIME_S,
    SIGNATURE_HEADER,
    CallContext,
    encode_context,
    sign,
)
from companyos_shared.wire.nonces import new_nonce, wall_clock

CONTROL_PREFIX = "/control/"


class Signer:
    """Signs calls for one service. Without a key the headers carry no signature."""

    def __init__(self, key: bytes, audience: str) -> None:
        self._key = key
        self._audience = audience
        self.generation = 0
        """The generation of the lease under which calls are sent; 0 before the first lease."""

    def headers(
        self, method: str, target: str, body: bytes, context: CallContext, signed: Mapping[str, str] | None
    ) -> dict[str, str]:
        """Return the headers of one attempt to send a call; the signature also covers the headers `signed`."""
        text = encode_context(self._with_lease_fields(target, context))
        headers = {CONTEXT_HEADER: text}
        if self._key:
            headers[SIGNATURE_HEADER] = sign(
                self._key,
                audience=self._audience,
                method=method,
                target=target,
                body=body,
                context=text,
                headers=signed.items() if signed else (),
            )
        return headers

    def _with_lease_fields(self, target: str, context: CallContext) -> CallContext:
        fields: dict[str, object] = {"generation": self.generation}
        if target.startswith(CONTROL_PREFIX):
            fields["nonce"] = new_nonce()
            fields["expires_at"] = wall_clock() + CONTROL_LIFETIME_S
        return context.model_copy(update=fields)
