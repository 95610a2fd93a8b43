"""Injected transport faults: maps a fault of the signed context to an error response that looks like an outage."""

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
    """Return whether the caller receives an error. A stale read returns old data instead."""
    return fault.kind is not FaultKind.STALE_READ


def strikes_before(fault: Fault) -> bool:
    """Return whether the fault prevents the operation from running."""
    return fault.kind is not FaultKind.TIMEOUT_AFTER_COMMIT and is_outage(fault)


def fault_problem(fault: Fault) -> Problem:
    """Return the error that the caller receives. Both timeouts look the same."""
    return _ANSWERS[fault.kind]()


def fault_response(fault: Fault) -> Response:
    """Return the response that replaces the operation's own."""
    headers = {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
    return fault_problem(fault).response(headers)
