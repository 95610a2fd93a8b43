"""The signed context that the gateway sends with each call: episode, step, simulated time and injected fault."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

CONTEXT_HEADER = "x-companyos-context"
SIGNATURE_HEADER = "x-companyos-signature"
REPORT_HEADER = "x-companyos-report"
SIGNED_HEADERS = frozenset({"if-match", "idempotency-key"})
"""Names of headers are in lower case, as in ASGI."""

CONTROL_LIFETIME_S = 60.0
"""Validity of a control call after it was signed, by the wall clock."""

EPISODE_PATTERN = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"
SOURCE_PATTERN = r"^[0-9a-f]{64}$"


class Actor(StrEnum):
    """Origin of a change."""

    AGENT = "agent"
    CLOCK = "clock"
    TRAINER = "trainer"


class FaultKind(StrEnum):
    """Kind of an injected transport fault."""

    UNAVAILABLE = "unavailable"
    RATE_LIMITED = "rate_limited"
    TIMEOUT_BEFORE_COMMIT = "timeout_before_commit"
    TIMEOUT_AFTER_COMMIT = "timeout_after_commit"
    FORBIDDEN = "forbidden"
    STALE_READ = "stale_read"


class Fault(BaseModel):
    """An injected fault.

    `retry_after_s` is the Retry-After header of an outage; `hides_from_step` is the step of the agent from which on a
    stale read sees no changes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: FaultKind
    retry_after_s: int | None = Field(None, ge=0, strict=True)
    hides_from_step: int | None = Field(None, ge=1, strict=True)


class CallContext(BaseModel):
    """The context of a call. (episode, epoch, step) is the op id of an agent's call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    episode: str = Field(pattern=EPISODE_PATTERN, description="Internal id of the episode.")
    epoch: int = Field(ge=1)
    source: str = Field(pattern=SOURCE_PATTERN, description="Digest of the document that the epoch starts from.")
    step: int = Field(ge=0)
    actor: Actor = Actor.AGENT
    now: datetime
    fault: Fault | None = None
    generation: int = Field(0, ge=0, description="Lease generation of the gateway; 0 means no lease.")
    written_step: int = Field(0, ge=0, description="Last step that is known to have changed rows of the service.")
    written_seq: int = Field(0, ge=0, description="Last known change of the service.")
    nonce: str | None = Field(None, pattern=r"^[0-9a-f]{32}$", description="Control calls: accepted once.")
    expires_at: float | None = Field(None, description="Control calls: Unix time after which the call is rejected.")


def op_id(context: CallContext) -> str:
    """Return the op id of a call: episode, epoch and step."""
    return f"{context.episode}:{context.epoch}:{context.step}"


def encode_context(context: CallContext) -> str:
    """Return the context as a header value: compact ASCII JSON."""
    return context.model_dump_json(exclude_none=True)


def sign(
    key: bytes,
    *,
    audience: str,
    method: str,
    target: str,
    body: bytes,
    context: str,
    headers: Iterable[tuple[str, str]] = (),
) -> str:
    """Return the HMAC-SHA256 of a call, in hexadecimal.

    It covers the service name (audience), the method, the target (path and query), the digest of the body, the context,
    and all values of the SIGNED_HEADERS, which affect writes.
    """
    signed_headers = sorted(f"{name.lower()}: {value}" for name, value in headers if name.lower() in SIGNED_HEADERS)
    parts = (audience, method.upper(), target, hashlib.sha256(body).hexdigest(), context, *signed_headers)
    return hmac.digest(key, "\n".join(parts).encode(), "sha256").hex()
