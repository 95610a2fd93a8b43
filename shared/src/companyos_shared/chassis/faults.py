"""Planned transport faults: how a fault in the signed context becomes an answer that looks like a real outage."""

from __future__ import annotations

from fastapi.responses import Response

from companyos_shared.chassis.errors import (
    AccessDenied,
    GatewayTimeout,
    Problem,
    ServiceUnavailable,
    TooManyRequests,
)
from companyos_shared.wire.context import Fault, FaultKind

_ANSWERS: dict[FaultKind, type[Problem]] = {
    FaultKind.UNAVAILABLE: ServiceUnavailable,
    FaultKind.RATE_LIMITED: TooManyRequests,
    FaultKind.TIMEOUT_BEFORE_COMMIT: GatewayTimeout,
    FaultKind.TIMEOUT_AFTER_COMMIT: GatewayTimeout,
    FaultKind.FORBIDDEN: AccessDenied,
}


def is_outage(fault: Fault) -> bool:
    """Say whether the caller sees a refusal; a stale read answers, though with what was."""
    return fault.kind is not FaultKind.STALE_READ


def strikes_before(fault: Fault) -> bool:
    """Say whether the fault keeps the operation from running at all."""
    return fault.kind is not FaultKind.TIMEOUT_AFTER_COMMIT and is_outage(fault)


def fault_problem(fault: Fault) -> Problem:
    """Return the refusal that the caller reads; the two timeouts read the same."""
    return _ANSWERS[fault.kind]()


def fault_response(fault: Fault) -> Response:
    """Return the answer that the caller sees instead of the operation's own."""
    headers = {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
    return fault_problem(fault).response(headers)
