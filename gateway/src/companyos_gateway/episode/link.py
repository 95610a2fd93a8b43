"""The way to one service: long-lived connections, signed calls, and reports split from answers."""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import aiohttp
import httpx
import orjson
from httpx_aiohttp import AiohttpTransport
from pydantic import BaseModel

from companyos_gateway.episode.errors import HouseFault, ServiceRefusalError, ServicesDown, problem_of
from companyos_gateway.episode.signing import CONTROL_PREFIX, Signer
from companyos_shared.telemetry.figures import Latency
from companyos_shared.telemetry.traces import NO_TRACES, Traces
from companyos_shared.wire.context import REPORT_HEADER, CallContext
from companyos_shared.wire.control import EntriesRequest, LoadRequest, QuarantineRequest, Report, SettleRequest
from companyos_shared.wire.strict_json import MAX_BODY_BYTES

MAX_TARGET_BYTES = 4096
CALL_DEADLINE_S = 2.0
CONNECT_DEADLINE_S = 0.5
LOAD_DEADLINE_S = 15.0
PROBE_DEADLINE_S = 1.0
CALL_BUDGET_S = 4.5
RESEND_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.2
KEEPALIVE_S = 60.0
MOST_CONNECTIONS = 256

_JSON = "application/json"
_UNAUTHORIZED = 401
_SIGN_ANEW = frozenset({"call-expired", "call-replayed"})
"""Control calls are refused so where a wall clock was set or a service restarted; each attempt has a new signature."""
_UNKNOWN_SOURCE = "unknown-source"
STALE_GENERATION = "stale-generation"
_SOURCE_USELESS = frozenset({"source-corrupt", "source-outdated"})
_LONG = (LoadRequest, QuarantineRequest, EntriesRequest)
"""Requests that may take long and are waited for."""
_TRANSPORT_ERRORS = (httpx.TransportError, aiohttp.ClientError, OSError, TimeoutError)
_TIMEOUTS = {"timeout": {"connect": CONNECT_DEADLINE_S, "read": LOAD_DEADLINE_S}}
_LONGEST_URL_KEPT = 128
_URLS_KEPT = 4096
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
    def fits(self) -> bool:
        """Whether the request is within what a service reads, however its arguments grew on the way."""
        return len(self.target) <= MAX_TARGET_BYTES and len(self.body) <= MAX_BODY_BYTES


@dataclass(frozen=True, slots=True)
class Reported:
    """The control side of an answer: understood, and as it came."""

    report: Report
    raw: bytes


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """What a service answered: the payload for the agent, the report for the house."""

    status: int
    payload: bytes
    reported: Reported
    retry_after_s: int | None = None


class SourceUnknown(Exception):
    """The service does not have the source that the call's epoch starts from."""

    def __init__(self, service: str) -> None:
        super().__init__(service)
        self.service = service


class SourceCorrupt(SourceUnknown):
    """The service has the source, and it is not what it was."""


class ServiceLink:
    """One service: its name, its long-lived connections, its key, and how it has done so far.

    Requests and answers are httpx's; they go straight through the transport, for the client around it would cost as
    much again.
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
        self.address = address
        self.signer = Signer(key, name)
        self.superseded = False
        """Whether the service was heard to follow another gateway by now."""
        self.latency = Latency()
        self.resends = 0
        self.faults = 0
        self._traces = traces
        self._base = "http://service" if address.startswith("unix:") else address
        self._transport = transport or _transport(address)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def is_ready(self) -> bool:
        """Say whether the service answers that it is ready, and follows this gateway as far as is known."""
        if self.superseded:
            return False
        try:
            async with asyncio.timeout(PROBE_DEADLINE_S):
                return (await self._carry(self._request("GET", "/readyz"))).is_success
        except _TRANSPORT_ERRORS:
            return False

    async def openapi(self) -> dict[str, Any]:
        """Return the service's published OpenAPI document; raises ServicesDown."""
        try:
            async with asyncio.timeout(LOAD_DEADLINE_S):
                answer = await self._carry(self._request("GET", "/openapi.json"))
        except _TRANSPORT_ERRORS as error:
            raise ServicesDown(f"The service {self.name} does not answer.") from error
        if not answer.is_success:
            raise ServicesDown(f"The service {self.name} publishes no OpenAPI document.")
        document: dict[str, Any] = orjson.loads(answer.content)
        return document

    async def send(self, call: ServiceCall, context: CallContext, *, is_long: bool = False) -> httpx.Response:
        """Carry one signed call; resends the very same after a real transport error; raises HouseFault."""
        if not self._traces.on:
            return await self._send(call, context, is_long=is_long)
        with self._traces.call(f"{self.name} {_word_for(call)}") as span:
            span.set(service=self.name)
            answer = await self._send(call, context, is_long=is_long)
            span.set(status=answer.status_code)
            return answer

    async def _send(self, call: ServiceCall, context: CallContext, *, is_long: bool) -> httpx.Response:
        clock = asyncio.get_running_loop().time
        began_at = clock()
        deadline_s = LOAD_DEADLINE_S if is_long else CALL_DEADLINE_S
        give_up_at = began_at + (LOAD_DEADLINE_S if is_long else CALL_BUDGET_S)
        for attempt in itertools.count():
            try:
                async with asyncio.timeout(min(deadline_s, give_up_at - clock())):
                    answer = await self._carry(self._signed(call, context))
                if answer.status_code == _UNAUTHORIZED and problem_of(answer.content)[0] in _SIGN_ANEW:
                    raise ConnectionError(problem_of(answer.content)[0])
                self.latency.observe(clock() - began_at)
                return answer
            except _TRANSPORT_ERRORS as error:
                pause_s = min(RESEND_PAUSE_S * 2.0**attempt, LONGEST_PAUSE_S) * (0.5 + _JITTER.random())
                _log.warning("%s: %s failed: %r", self.name, _word_for(call), error)
                if clock() + pause_s >= give_up_at:
                    raise self._fault(f"The service {self.name} could not be reached.") from error
            await asyncio.sleep(pause_s)
            self.resends += 1
        raise AssertionError

    async def call(self, call: ServiceCall, context: CallContext) -> ServiceAnswer:
        """Carry one call of the agent and split the answer; raises HouseFault where the service itself failed."""
        answer = await self.send(call, context)
        return self._split(answer)

    async def settle(self, context: CallContext, asked: SettleRequest) -> Reported:
        """Let what is due happen; raises SourceUnknown, or HouseFault for anything but a report."""
        return _reported(await self._asked("settle", context, asked))

    async def ask(self, verb: str, reply: type[M], context: CallContext, body: BaseModel | None = None) -> M:
        """Ask the control plane; raises SourceUnknown, SourceCorrupt, or HouseFault for anything but the reply."""
        return reply.model_validate_json(await self._asked(verb, context, body))

    async def export(self, context: CallContext) -> bytes:
        """Return a copy of the database that the epoch is played on; raises as `ask` does."""
        return await self._asked("export", context)

    async def _asked(self, verb: str, context: CallContext, body: BaseModel | None = None) -> bytes:
        content = b"{}" if body is None else body.model_dump_json().encode()
        call = ServiceCall("POST", CONTROL_PREFIX + verb, content)
        answer = await self.send(call, context, is_long=isinstance(body, _LONG))
        if answer.is_error:
            code = problem_of(answer.content)[0]
            self._check_source(code)
            raise self._refused(f"{self.name}: {verb} answered {answer.status_code}: {code}", answer.content)
        return answer.content

    def _fault(self, text: str) -> HouseFault:
        self.faults += 1
        return HouseFault(text)

    def _refused(self, text: str, content: bytes) -> HouseFault:
        self.faults += 1
        code, detail = problem_of(content)
        self.superseded = self.superseded or code == STALE_GENERATION
        return ServiceRefusalError(text, code=code, detail=detail)

    def _check_source(self, code: str) -> None:
        if code == _UNKNOWN_SOURCE:
            raise SourceUnknown(self.name)
        if code in _SOURCE_USELESS:
            raise SourceCorrupt(self.name)

    def _signed(self, call: ServiceCall, context: CallContext) -> httpx.Request:
        headers = self.signer.headers(call.method, call.target, call.body, context, call.headers)
        if call.body:
            headers["Content-Type"] = _JSON
        if call.headers:
            headers.update(call.headers)
        if self._traces.on:
            headers.update(self._traces.headers())
        return self._request(call.method, call.target, headers, call.body)

    def _request(
        self, method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> httpx.Request:
        url = (
            _parsed_url(f"{self._base}{target}") if len(target) <= _LONGEST_URL_KEPT else httpx.URL(self._base + target)
        )
        return httpx.Request(method, url, headers=headers, content=body, extensions=_TIMEOUTS)

    async def _carry(self, request: httpx.Request) -> httpx.Response:
        answer = await self._transport.handle_async_request(request)
        await answer.aread()
        return answer

    def _split(self, answer: httpx.Response) -> ServiceAnswer:
        body = answer.content
        length = answer.headers.get(REPORT_HEADER)
        if length is None:
            code = problem_of(body)[0]
            self._check_source(code)
            raise self._refused(f"{self.name}: answered {answer.status_code} without a report: {code}", body)
        cut = len(body) - int(length)
        reported = _reported(body[cut:])
        if answer.is_server_error and reported.report.planned is None:
            raise self._fault(f"{self.name}: answered {answer.status_code}: {problem_of(body[:cut])[0]}")
        retry_after = answer.headers.get("Retry-After")
        return ServiceAnswer(
            status=answer.status_code,
            payload=body[:cut],
            reported=reported,
            retry_after_s=int(retry_after) if retry_after and retry_after.isdecimal() else None,
        )


def _word_for(call: ServiceCall) -> str:
    """Return what a call does in a word that holds none of its arguments."""
    return call.target.removeprefix(CONTROL_PREFIX) if call.target.startswith(CONTROL_PREFIX) else call.method


def _reported(raw: bytes) -> Reported:
    return Reported(Report.model_validate_json(raw), raw)


@lru_cache(_URLS_KEPT)
def _parsed_url(url: str) -> httpx.URL:
    return httpx.URL(url)


def _transport(address: str) -> AiohttpTransport:
    path = address.removeprefix("unix:") if address.startswith("unix:") else None
    limits = httpx.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=KEEPALIVE_S)
    return AiohttpTransport(uds=path, limits=limits, trust_env=False, verify=False)
