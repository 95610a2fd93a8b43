"""Planned transport faults: how a fault in the signed context becomes an answer that looks like a real outage."""

from __future__ import annotations

from fastapi.responses import Response

from companyos_shared.chassis.errors import Problem
from companyos_shared.wire.context import Fault, FaultKind


class ServiceUnavailable(Problem):
    status, code, title = 503, "service-unavailable", "The service is unavailable"


class TooManyRequests(Problem):
    status, code, title = 429, "too-many-requests", "Too many requests"


class GatewayTimeout(Problem):
    status, code, title = 504, "timeout", "The service did not answer in time"


class AccessDenied(Problem):
    status, code, title = 403, "access-denied", "Access was denied"


_ANSWERS: dict[FaultKind, type[Problem]] = {
    FaultKind.UNAVAILABLE: ServiceUnavailable,
    FaultKind.RATE_LIMITED: TooManyRequests,
    FaultKind.TIMEOUT_BEFORE_COMMIT: GatewayTimeout,
    FaultKind.TIMEOUT_AFTER_COMMIT: GatewayTimeout,
    FaultKind.FORBIDDEN: AccessDenied,
}


def strikes_before(fault: Fault | None) -> bool:
    """Say whether the fault keeps the operation from running at all."""
    return fault is not None and fault.kind is not FaultKind.TIMEOUT_AFTER_COMMIT


def fault_problem(fault: Fault) -> Problem:
    """Return the refusal that the caller reads; the two timeouts read the same."""
    return _ANSWERS[fault.kind]()


def fault_response(fault: Fault) -> Response:
    """Return the answer that the caller sees instead of the operation's own."""
    headers = {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
    return fault_problem(fault).response(headers)
