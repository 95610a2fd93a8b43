"""Authentication of the gateway by the signature of its calls."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from companyos_shared.chassis.errors import BadContext, NotSigned
from companyos_shared.wire.context import CONTEXT_HEADER, SIGNATURE_HEADER, CallContext, is_signed

_CONTEXT, _SIGNATURE = CONTEXT_HEADER.lower(), SIGNATURE_HEADER.lower()


def check_signature(
    key: bytes, *, audience: str, method: str, target: str, body: bytes, headers: Sequence[tuple[str, str]]
) -> CallContext:
    """Return the context of a signed call; raises NotSigned (401) or BadContext (400). Header names are lower case."""
    values = dict(headers)
    context, signature = values.get(_CONTEXT), values.get(_SIGNATURE)
    if context is None or signature is None:
        raise NotSigned
    if not is_signed(
        signature, key, audience=audience, method=method, target=target, body=body, context=context, headers=headers
    ):
        raise NotSigned("The signature does not match the call.")
    try:
        return CallContext.model_validate_json(context)
    except ValidationError as error:
        raise BadContext from error
