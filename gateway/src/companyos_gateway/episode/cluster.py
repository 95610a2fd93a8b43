"""The services over HTTP: one long-lived client each, signed calls, and reports split from answers."""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import httpx
import orjson
from httpx_aiohttp import AiohttpTransport
from pydantic import BaseModel

from companyos_gateway.episode.errors import HouseFault, ServicesDown
from companyos_shared.wire.context import CONTEXT_HEADER, REPORT_HEADER, SIGNATURE_HEADER, CallContext, encode_context
from companyos_shared.wire.context import sign as signature_of
from companyos_shared.wire.control import DigestReply, EvidenceReply, LoadReply, LoadRequest, Report, SettleRequest

CALL_DEADLINE_S = 2.0
CONNECT_DEADLINE_S = 0.5
LOAD_DEADLINE_S = 15.0
PROBE_DEADLINE_S = 1.0
CALL_BUDGET_S = 4.5
RESEND_PAUSE_S = 0.02
KEEPALIVE_S = 60.0
MOST_CONNECTIONS = 256

_JSON = "application/json"
_UNKNOWN_SOURCE = "unknown-source"
_TRANSPORT_ERRORS = (httpx.TransportError, aiohttp.ClientError, OSError, TimeoutError)
_JITTER = secrets.SystemRandom()
_log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """One HTTP request of a service's agent plane. `target` is the encoded path with its query."""

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """What a service answered: the payload for the agent, the report for the house."""

    status: int
    payload: bytes
    report: Report
    retry_after_s: int | None = None


class ServiceLink:
    """One service: its name, its long-lived client, its key."""

    def __init__(self, name: str, address: str, key: bytes, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.name = name
        self.address = address
        self._key = key
        self._client = httpx.AsyncClient(
            base_url="http://service" if address.startswith("unix:") else address,
            transport=transport or _transport(address),
            timeout=httpx.Timeout(CALL_DEADLINE_S, connect=CONNECT_DEADLINE_S),
        )

    async def aclose(self) -> None:
        """Close the client and its connections."""
        await self._client.aclose()

    async def is_ready(self) -> bool:
        """Say whether the service answers that it is ready."""
        try:
            async with asyncio.timeout(PROBE_DEADLINE_S):
                return (await self._client.get("/readyz")).status_code == httpx.codes.OK
        except _TRANSPORT_ERRORS:
            return False

    async def openapi(self) -> dict[str, Any]:
        """Return the service's published OpenAPI document; raises ServicesDown."""
        try:
            async with asyncio.timeout(LOAD_DEADLINE_S):
                answer = await self._client.get("/openapi.json")
        except _TRANSPORT_ERRORS as error:
            raise ServicesDown(f"The service {self.name} does not answer.") from error
        if answer.status_code != httpx.codes.OK:
            raise ServicesDown(f"The service {self.name} publishes no OpenAPI document.")
        document: dict[str, Any] = orjson.loads(answer.content)
        return document

    async def send(
        self, call: ServiceCall, context: CallContext, *, deadline_s: float = CALL_DEADLINE_S
    ) -> httpx.Response:
        """Carry one signed call; resends the very same after a real transport error; raises HouseFault."""
        clock = asyncio.get_running_loop().time
        give_up_at = clock() + max(CALL_BUDGET_S, 2 * deadline_s)
        for attempt in itertools.count():
            try:
                async with asyncio.timeout(min(deadline_s, give_up_at - clock())):
                    return await self._client.send(self._signed(call, context))
            except _TRANSPORT_ERRORS as error:
                pause_s = RESEND_PAUSE_S * 2.0**attempt * (0.5 + _JITTER.random())
                _log.warning("%s: %s %s failed: %r", self.name, call.method, call.target, error)
                if clock() + pause_s >= give_up_at:
                    raise HouseFault(f"The service {self.name} could not be reached.") from error
            await asyncio.sleep(pause_s)
        raise AssertionError

    async def call(self, call: ServiceCall, context: CallContext) -> ServiceAnswer:
        """Carry one call of the agent and split the answer; raises HouseFault where the service itself failed."""
        answer = await self.send(call, context)
        return self._split(answer)

    async def ask(self, verb: str, reply: type[M], context: CallContext, body: BaseModel | None = None) -> M:
        """Ask the control plane; raises SourceUnknown, or HouseFault for anything but the reply."""
        content = b"{}" if body is None else body.model_dump_json().encode()
        deadline_s = LOAD_DEADLINE_S if isinstance(body, LoadRequest) else CALL_DEADLINE_S
        call = ServiceCall("POST", f"/control/{verb}", content)
        answer = await self.send(call, context, deadline_s=deadline_s)
        if answer.status_code == httpx.codes.NOT_FOUND and _problem_code(answer.content) == _UNKNOWN_SOURCE:
            raise SourceUnknown(self.name)
        if answer.is_error:
            raise HouseFault(f"{self.name}: {verb} answered {answer.status_code}: {_problem_code(answer.content)}")
        return reply.model_validate_json(answer.content)

    def _signed(self, call: ServiceCall, context: CallContext) -> httpx.Request:
        text = encode_context(context)
        headers = {CONTEXT_HEADER: text}
        if self._key:
            headers[SIGNATURE_HEADER] = signature_of(
                self._key, method=call.method, target=call.target, body=call.body, context=text
            )
        if call.body:
            headers["Content-Type"] = _JSON
        if call.headers:
            headers.update(call.headers)
        return self._client.build_request(call.method, call.target, content=call.body, headers=headers)

    def _split(self, answer: httpx.Response) -> ServiceAnswer:
        body = answer.content
        length = answer.headers.get(REPORT_HEADER)
        if length is None:
            code = _problem_code(body)
            if answer.status_code == httpx.codes.NOT_FOUND and code == _UNKNOWN_SOURCE:
                raise SourceUnknown(self.name)
            raise HouseFault(f"{self.name}: answered {answer.status_code} without a report: {code}")
        cut = len(body) - int(length)
        report = Report.model_validate_json(body[cut:])
        if answer.is_server_error and report.planned is None:
            raise HouseFault(f"{self.name}: answered {answer.status_code}: {_problem_code(body[:cut])}")
        retry_after = answer.headers.get("Retry-After")
        return ServiceAnswer(
            status=answer.status_code,
            payload=body[:cut],
            report=report,
            retry_after_s=int(retry_after) if retry_after and retry_after.isdecimal() else None,
        )


class SourceUnknown(Exception):
    """The service does not have the source that the call's epoch starts from."""

    def __init__(self, service: str) -> None:
        super().__init__(service)
        self.service = service


class Cluster:
    """All services by name. Whoever closes it closes every connection."""

    def __init__(self, links: Mapping[str, ServiceLink]) -> None:
        self.links = dict(links)

    @classmethod
    def at(cls, addresses: Mapping[str, str], key: bytes) -> Cluster:
        """Return the cluster of these addresses."""
        return cls({name: ServiceLink(name, address, key) for name, address in addresses.items()})

    async def aclose(self) -> None:
        """Close every link."""
        await asyncio.gather(*(link.aclose() for link in self.links.values()))

    async def readiness(self) -> dict[str, bool]:
        """Return by name whether each service is ready."""
        answers = await asyncio.gather(*(link.is_ready() for link in self.links.values()))
        return dict(zip(self.links, answers, strict=True))

    async def openapi(self) -> dict[str, dict[str, Any]]:
        """Return every service's OpenAPI document; raises ServicesDown."""
        found = await asyncio.gather(*(link.openapi() for link in self.links.values()))
        return dict(zip(self.links, found, strict=True))

    async def load(self, service: str, context: CallContext, document: Callable[[], dict[str, Any]]) -> LoadReply:
        """Make sure that the service has the source of the context, and return its rows at rest."""
        link, source = self.links[service], context.source
        try:
            return await link.ask("load", LoadReply, context, LoadRequest(source=source, document=None))
        except SourceUnknown:
            return await link.ask("load", LoadReply, context, LoadRequest(source=source, document=document()))

    async def call(
        self, service: str, call: ServiceCall, context: CallContext, document: Callable[[], dict[str, Any]]
    ) -> ServiceAnswer:
        """Carry one call of the agent; a service that forgot the source is sent the document and asked again."""
        link = self.links[service]
        return await self._planted(service, context, document, lambda: link.call(call, context))

    async def settle(
        self, service: str, context: CallContext, document: Callable[[], dict[str, Any]], *, after: int
    ) -> Report:
        """Let everything that is due at the context's now happen; the report holds the changes behind `after`."""
        link, asked = self.links[service], SettleRequest(after=after)
        return await self._planted(service, context, document, lambda: link.ask("settle", Report, context, asked))

    async def digest(self, service: str, context: CallContext) -> DigestReply:
        """Return the digests over the rows that the epoch holds."""
        return await self.links[service].ask("digest", DigestReply, context)

    async def evidence(self, service: str, context: CallContext) -> EvidenceReply:
        """Return everything that the service recorded of the epoch."""
        return await self.links[service].ask("evidence", EvidenceReply, context)

    async def drop(self, service: str, context: CallContext) -> None:
        """Free what the service holds of the episode; a service that does not answer keeps it."""
        try:
            await self.links[service].send(ServiceCall("POST", "/control/drop", b"{}"), context)
        except HouseFault:
            _log.warning("%s: the episode %s could not be dropped", service, context.episode)

    async def _planted(
        self,
        service: str,
        context: CallContext,
        document: Callable[[], dict[str, Any]],
        send: Callable[[], Awaitable[T]],
    ) -> T:
        try:
            return await send()
        except SourceUnknown:
            request = LoadRequest(source=context.source, document=document())
            await self.links[service].ask("load", LoadReply, context, request)
            return await send()


def _transport(address: str) -> AiohttpTransport:
    path = address.removeprefix("unix:") if address.startswith("unix:") else None
    limits = httpx.Limits(max_connections=MOST_CONNECTIONS, keepalive_expiry=KEEPALIVE_S)
    return AiohttpTransport(uds=path, limits=limits, trust_env=False, verify=False)


def _problem_code(content: bytes) -> str:
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return "no-problem"
    return str(body.get("code", "no-problem")) if isinstance(body, dict) else "no-problem"
