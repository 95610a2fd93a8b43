"""HTTP client of one service: signs calls and separates the report from the response body."""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import orjson
from pydantic import BaseModel

from companyos_gateway.engine.errors import (
    InfrastructureError,
    ServiceRefusalError,
    ServicesUnavailableError,
    parse_problem,
)
from companyos_gateway.engine.service_connections import (
    TRANSPORT_ERRORS,
    HttpResponse,
    ServiceConnections,
    TransportConnections,
)
from companyos_gateway.engine.signing import CONTROL_PREFIX, Signer
from companyos_gateway.engine.unix_connections import UnixConnections
from companyos_shared.telemetry.histogram import LatencyHistogram
from companyos_shared.telemetry.tracing import NO_TRACES, Traces
from companyos_shared.wire.context import REPORT_HEADER, CallContext
from companyos_shared.wire.control import EntriesRequest, QuarantineRequest, Report, SettleRequest
from companyos_shared.wire.strict_json import MAX_BODY_BYTES

MAX_TARGET_BYTES = 4096
STEP_TIMEOUT_S = 30.0
ATTEMPT_SHARE, CALL_SHARE = 0.4, 0.9
"""Shares of a step's timeout: for one attempt at a call, and for all attempts together."""
LOAD_DEADLINE_S = 180.0
PROBE_DEADLINE_S = 1.0
RETRY_DELAY_S = 0.02
MAX_RETRY_DELAY_S = 0.2

_JSON = "application/json"
_UNAUTHORIZED, _SERVER_ERROR = 401, 500
_RESIGN_CODES = frozenset({"call-expired", "call-replayed"})
"""Refusals of control calls after a wall clock was set or a service restarted; each attempt has a new signature."""
_UNKNOWN_SOURCE = "unknown-source"
_UNKNOWN_BASE = "unknown-base"
STALE_GENERATION = "stale-generation"
INVALID_SEED = "invalid-seed"
_CORRUPT_SOURCE_CODES = frozenset({"source-corrupt", "source-outdated"})
_SLOW_REQUESTS = (bytes, QuarantineRequest, EntriesRequest)
"""Bodies of slow requests, which have LOAD_DEADLINE_S. A body in bytes is that of a load request."""
_JITTER = secrets.SystemRandom()
_log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """One HTTP request of a service's agent plane. `target` is the encoded path with its query."""

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] | None = None

    @property
    def is_within_limits(self) -> bool:
        """Return whether the encoded request is within the size that a service accepts."""
        return len(self.target) <= MAX_TARGET_BYTES and len(self.body) <= MAX_BODY_BYTES


@dataclass(frozen=True, slots=True)
class ReceivedReport:
    """The report of a response: parsed, and the raw bytes."""

    report: Report
    raw: bytes


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """Response of a service: the payload for the agent and the report for the gateway."""

    status: int
    payload: bytes
    received_report: ReceivedReport
    retry_after_s: int | None = None


class UnknownSourceError(Exception):
    """The service does not have the source from which the call's epoch starts."""

    def __init__(self, service: str) -> None:
        super().__init__(service)
        self.service = service


class UnknownBaseError(Exception):
    """The service does not have the base that a seed document references."""


class CorruptSourceError(UnknownSourceError):
    """The service has the source, but it is damaged or outdated."""


class ServiceClient:
    """Client of one service: its address, connections, signer and counters.

    Tests can pass an httpx transport to replace the connections.
    """

    def __init__(
        self,
        name: str,
        address: str,
        key: bytes,
        transport: httpx.AsyncBaseTransport | None = None,
        traces: Traces = NO_TRACES,
    ) -> None:
        self.name = name
        self.step_timeout_s = STEP_TIMEOUT_S
        self.address = address
        self.signer = Signer(key, name)
        self.is_superseded = False
        """Whether the service has reported that another gateway took it over."""
        self.latency = LatencyHistogram()
        self.resends = 0
        self.faults = 0
        self._traces = traces
        self._connections = open_connections(address, transport)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def is_ready(self) -> bool:
        """Return whether the service reports that it is ready, and is not known to be taken over by another gateway."""
        if self.is_superseded:
            return False
        try:
            async with asyncio.timeout(PROBE_DEADLINE_S):
                return (await self._connections.exchange("GET", "/readyz", {}, b"")).is_success
        except TRANSPORT_ERRORS:
            return False

    async def openapi(self) -> dict[str, Any]:
        """Return the service's published OpenAPI document; raises ServicesUnavailableError."""
        try:
            async with asyncio.timeout(LOAD_DEADLINE_S):
                response = await self._connections.exchange("GET", "/openapi.json", {}, b"")
        except TRANSPORT_ERRORS as error:
            raise ServicesUnavailableError(f"The service {self.name} does not respond.") from error
        if not response.is_success:
            raise ServicesUnavailableError(f"The service {self.name} publishes no OpenAPI document.")
        document: dict[str, Any] = orjson.loads(response.content)
        return document

    async def send(self, call: ServiceCall, context: CallContext, *, is_slow: bool = False) -> HttpResponse:
        """Send one signed call, and resend it after transport errors; raises InfrastructureError after the deadline."""
        if not self._traces.enabled:
            return await self._send(call, context, is_slow=is_slow)
        with self._traces.client_span(f"{self.name} {_operation_name(call)}") as span:
            span.set(service=self.name)
            response = await self._send(call, context, is_slow=is_slow)
            span.set(status=response.status_code)
            return response

    async def _send(self, call: ServiceCall, context: CallContext, *, is_slow: bool) -> HttpResponse:
        clock = asyncio.get_running_loop().time
        began_at = clock()
        deadline_s = LOAD_DEADLINE_S if is_slow else ATTEMPT_SHARE * self.step_timeout_s
        give_up_at = began_at + (LOAD_DEADLINE_S if is_slow else CALL_SHARE * self.step_timeout_s)
        for attempt in itertools.count():
            try:
                async with asyncio.timeout(min(deadline_s, give_up_at - clock())):
                    headers = self._headers(call, context)
                    response = await self._connections.exchange(call.method, call.target, headers, call.body)
                if response.status_code == _UNAUTHORIZED and parse_problem(response.content)[0] in _RESIGN_CODES:
                    raise ConnectionError(parse_problem(response.content)[0])
                self.latency.observe(clock() - began_at)
                return response
            except TRANSPORT_ERRORS as error:
                delay_s = min(RETRY_DELAY_S * 2.0**attempt, MAX_RETRY_DELAY_S) * (0.5 + _JITTER.random())
                _log.warning("%s: %s failed: %r", self.name, _operation_name(call), error)
                if clock() + delay_s >= give_up_at:
                    raise self._infrastructure_error(f"The service {self.name} could not be reached.") from error
            await asyncio.sleep(delay_s)
            self.resends += 1
        raise AssertionError

    async def call(self, call: ServiceCall, context: CallContext) -> ServiceResponse:
        """Send one call of the agent and parse the response.

        Raises UnknownSourceError, or InfrastructureError if the service itself failed.
        """
        response = await self.send(call, context)
        return self._parse_response(response)

    async def settle(self, context: CallContext, request: SettleRequest) -> ReceivedReport:
        """Apply the events that are due; raises UnknownSourceError, or InfrastructureError for an error response."""
        return _parse_report(await self._control_call("settle", context, request))

    async def control_call(
        self, verb: str, reply: type[M], context: CallContext, body: BaseModel | bytes | None = None
    ) -> M:
        """Send a control call and return the parsed reply.

        Raises UnknownSourceError, CorruptSourceError, UnknownBaseError, or InfrastructureError for any other error
        response.
        """
        return reply.model_validate_json(await self._control_call(verb, context, body))

    async def export(self, context: CallContext) -> bytes:
        """Return a copy of the epoch's database; raises the errors of `control_call`."""
        return await self._control_call("export", context)

    async def _control_call(self, verb: str, context: CallContext, body: BaseModel | bytes | None = None) -> bytes:
        content = body.model_dump_json().encode() if isinstance(body, BaseModel) else body or b"{}"
        call = ServiceCall("POST", CONTROL_PREFIX + verb, content)
        response = await self.send(call, context, is_slow=isinstance(body, _SLOW_REQUESTS))
        if response.is_error:
            code, detail = parse_problem(response.content)
            self._check_source(code)
            text = f"{self.name}: {verb} returned status {response.status_code}: {code}: {detail}"
            raise self._refusal(text, response.content)
        return response.content

    def _infrastructure_error(self, text: str) -> InfrastructureError:
        self.faults += 1
        return InfrastructureError(text)

    def _refusal(self, text: str, content: bytes) -> InfrastructureError:
        self.faults += 1
        code, detail = parse_problem(content)
        self.is_superseded = self.is_superseded or code == STALE_GENERATION
        return ServiceRefusalError(text, code=code, detail=detail)

    def _check_source(self, code: str) -> None:
        if code == _UNKNOWN_SOURCE:
            raise UnknownSourceError(self.name)
        if code == _UNKNOWN_BASE:
            raise UnknownBaseError(self.name)
        if code in _CORRUPT_SOURCE_CODES:
            raise CorruptSourceError(self.name)

    def _headers(self, call: ServiceCall, context: CallContext) -> dict[str, str]:
        headers = self.signer.headers(call.method, call.target, call.body, context, call.headers)
        if call.body:
            headers["Content-Type"] = _JSON
        if call.headers:
            headers.update(call.headers)
        if self._traces.enabled:
            headers.update(self._traces.headers())
        return headers

    def _parse_response(self, response: HttpResponse) -> ServiceResponse:
        body = response.content
        length = response.headers.get(REPORT_HEADER)
        if length is None:
            code = parse_problem(body)[0]
            self._check_source(code)
            raise self._refusal(f"{self.name}: returned status {response.status_code} without a report: {code}", body)
        cut = len(body) - int(length)
        received_report = _parse_report(body[cut:])
        if response.status_code >= _SERVER_ERROR and received_report.report.planned is None:
            raise self._infrastructure_error(
                f"{self.name}: returned status {response.status_code}: {parse_problem(body[:cut])[0]}"
            )
        retry_after = response.headers.get("retry-after")
        return ServiceResponse(
            status=response.status_code,
            payload=body[:cut],
            received_report=received_report,
            retry_after_s=int(retry_after) if retry_after and retry_after.isdecimal() else None,
        )


def open_connections(address: str, transport: httpx.AsyncBaseTransport | None = None) -> ServiceConnections:
    """Return connections to `unix:path` or a URL, or through a transport."""
    if transport is not None:
        return TransportConnections(address, transport)
    if address.startswith("unix:"):
        return UnixConnections(address.removeprefix("unix:"))
    from companyos_gateway.engine.url_connections import UrlConnections  # imports aiohttp, which takes long

    return UrlConnections(address)


def _operation_name(call: ServiceCall) -> str:
    """Return a name of a call without its arguments: the control verb or the HTTP method."""
    return call.target.removeprefix(CONTROL_PREFIX) if call.target.startswith(CONTROL_PREFIX) else call.method


def _parse_report(raw: bytes) -> ReceivedReport:
    return ReceivedReport(Report.model_validate_json(raw), raw)
