"""The services over HTTP, each by its name; one that forgot a source is sent the document and asked again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from companyos_gateway.engine.concurrency import ConcurrencyLimiter
from companyos_gateway.engine.episode_gc import DropQueue
from companyos_gateway.engine.errors import (
    CorruptSnapshotError,
    InfrastructureError,
    LostSnapshotError,
    ServicesUnavailableError,
)
from companyos_gateway.engine.leases import SERVICE_CONTEXT, Leases
from companyos_gateway.engine.service_client import (
    STEP_TIMEOUT_S,
    CorruptSourceError,
    ReceivedReport,
    ServiceCall,
    ServiceClient,
    ServiceResponse,
    UnknownBaseError,
    UnknownSourceError,
)
from companyos_gateway.world.base_company import base_document
from companyos_shared.telemetry.tracing import NO_TRACES, Traces
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import (
    CheckReply,
    CheckRequest,
    DigestReply,
    EntriesRequest,
    EvidenceReply,
    ForgetRequest,
    InventoryReply,
    LoadReply,
    QuarantineReply,
    QuarantineRequest,
    SettleRequest,
    SnapshotReply,
    load_content,
)

_log = logging.getLogger(__name__)

T = TypeVar("T")

ReloadContent = Callable[[], bytes] | None
"""Makes the request that loads a source again; None for a snapshot, which cannot be loaded again."""


class ServiceClients:
    """All services by name. Closing it closes every connection."""

    def __init__(self, clients: Mapping[str, ServiceClient]) -> None:
        self.clients = dict(clients)
        self.step_timeout_s = STEP_TIMEOUT_S
        self._limiters = {name: ConcurrencyLimiter(name) for name in clients}
        self._drop_queue = DropQueue(clients, self._send_drop)
        self._leases = Leases(clients)

    @classmethod
    def from_addresses(cls, addresses: Mapping[str, str], key: bytes, traces: Traces = NO_TRACES) -> ServiceClients:
        """Return the cluster of these addresses."""
        return cls({name: ServiceClient(name, address, key, traces=traces) for name, address in addresses.items()})

    @property
    def on_last_drop(self) -> Callable[[str], None] | None:
        """Callback with an episode's id once every service has confirmed a resent drop."""
        return self._drop_queue.on_last_drop

    @on_last_drop.setter
    def on_last_drop(self, done: Callable[[str], None]) -> None:
        self._drop_queue.on_last_drop = done

    def set_step_timeout(self, seconds: float) -> None:
        """Set how long a step, and the calls that it makes, may take."""
        self.step_timeout_s = seconds
        for client in self.clients.values():
            client.step_timeout_s = seconds

    def step_slot(self, service: str | None) -> AbstractAsyncContextManager[None]:
        """Return a place with a service, to be held while a step is taken; a step that calls none needs none."""
        return nullcontext() if service is None else self._limiters[service].slot()

    async def aclose(self) -> None:
        """Close every link."""
        await self._drop_queue.aclose()
        await self._leases.aclose()
        await asyncio.gather(*(client.aclose() for client in self.clients.values()))

    async def lease(self, owner: str, *, take_over: bool = False) -> None:
        """Take the lease of every service, which is waited for; raises LeaseHeldError or ServiceRefusalError."""
        await self._leases.acquire(owner, take_over=take_over)

    def check_lease(self) -> None:
        """Raise ServicesUnavailableError (503) where another gateway has taken over a service."""
        superseded_names = sorted(name for name, client in self.clients.items() if client.is_superseded)
        if superseded_names:
            raise ServicesUnavailableError(f"Another gateway has taken over {', '.join(superseded_names)}.")

    async def readiness(self) -> dict[str, bool]:
        """Return by name whether each service is ready."""
        results = await asyncio.gather(*(client.is_ready() for client in self.clients.values()))
        return dict(zip(self.clients, results, strict=True))

    async def openapi(self) -> dict[str, dict[str, Any]]:
        """Return every service's OpenAPI document; raises ServicesUnavailableError."""
        documents = await asyncio.gather(*(client.openapi() for client in self.clients.values()))
        return dict(zip(self.clients, documents, strict=True))

    async def load(self, service: str, context: CallContext, content: bytes) -> LoadReply:
        """Make sure that the service has the source of the context, and return its rows at rest.

        A service that does not have the base of the document is sent that first.
        """
        client = self.clients[service]
        try:
            return await client.control_call("load", LoadReply, context, content)
        except UnknownBaseError:
            await self._load_base(client, context, orjson.loads(content)["document"]["base"])
            return await client.control_call("load", LoadReply, context, content)

    async def _load_base(self, client: ServiceClient, context: CallContext, source: str) -> None:
        content = await asyncio.to_thread(_base_content, client.name, source)
        await client.control_call("load-base", LoadReply, context.model_copy(update={"source": source}), content)

    async def call(
        self, service: str, call: ServiceCall, context: CallContext, content: ReloadContent
    ) -> ServiceResponse:
        """Carry one call of the agent; a service that forgot the source is sent the document and asked again."""
        client = self.clients[service]
        return await self._call_with_reload(service, context, content, lambda: client.call(call, context))

    async def settle(self, service: str, context: CallContext, content: ReloadContent, *, after: int) -> ReceivedReport:
        """Let everything that is due at the context's now happen; the report holds the changes behind `after`."""
        client, request = self.clients[service], SettleRequest(after=after)
        return await self._call_with_reload(service, context, content, lambda: client.settle(context, request))

    async def snapshot(self, service: str, context: CallContext, content: ReloadContent) -> str:
        """Keep the epoch as it is now as a source, and return its id."""
        client = self.clients[service]
        reply = await self._call_with_reload(
            service, context, content, lambda: client.control_call("snapshot", SnapshotReply, context)
        )
        return reply.source

    async def check(self, service: str, context: CallContext) -> None:
        """Raise LostSnapshotError or CorruptSnapshotError (410) where a service cannot begin an epoch from the
        source.
        """
        request = CheckRequest(source=context.source)
        try:
            await self.clients[service].control_call("check", CheckReply, context, request)
        except CorruptSourceError as corrupt:
            raise CorruptSnapshotError(f"The database of {service} is not what it was.") from corrupt
        except UnknownSourceError as unknown:
            raise LostSnapshotError(f"The database of {service} is gone.") from unknown

    async def forget(self, service: str, context: CallContext) -> bool:
        """Let a service forget a snapshot and return whether it did."""
        return await self._try_control_call(service, "forget", context, ForgetRequest(source=context.source))

    async def inventory(self, service: str) -> InventoryReply:
        """Return everything that a service holds of episodes and snapshots."""
        return await self.clients[service].control_call("inventory", InventoryReply, SERVICE_CONTEXT)

    async def quarantine(self, service: str, request: QuarantineRequest) -> QuarantineReply:
        """Let a service move episodes and snapshots into its quarantine, and return the entries made."""
        return await self.clients[service].control_call("quarantine", QuarantineReply, SERVICE_CONTEXT, request)

    async def quarantined(self, service: str) -> QuarantineReply:
        """Return the quarantine of a service."""
        return await self.clients[service].control_call("quarantine/list", QuarantineReply, SERVICE_CONTEXT)

    async def restore_quarantined(self, service: str, entries: list[str]) -> QuarantineReply:
        """Let a service move entries of its quarantine back; raises ServiceRefusalError."""
        request = EntriesRequest(entries=entries)
        return await self.clients[service].control_call("quarantine/restore", QuarantineReply, SERVICE_CONTEXT, request)

    async def remove_quarantined(self, service: str, entries: list[str]) -> QuarantineReply:
        """Let a service delete entries of its quarantine; raises ServiceRefusalError."""
        request = EntriesRequest(entries=entries)
        return await self.clients[service].control_call("quarantine/remove", QuarantineReply, SERVICE_CONTEXT, request)

    async def export(self, service: str, context: CallContext, content: ReloadContent) -> bytes:
        """Return a copy of the database that the epoch is played on."""
        client = self.clients[service]
        return await self._call_with_reload(service, context, content, lambda: client.export(context))

    async def digest(self, service: str, context: CallContext, content: ReloadContent = None) -> DigestReply:
        """Return the digests over the rows that the epoch holds."""
        client = self.clients[service]
        return await self._call_with_reload(
            service, context, content, lambda: client.control_call("digest", DigestReply, context)
        )

    async def evidence(self, service: str, context: CallContext) -> EvidenceReply:
        """Return everything that the service recorded of the epoch."""
        return await self.clients[service].control_call("evidence", EvidenceReply, context)

    async def drop(self, service: str, context: CallContext) -> bool:
        """Free what the service holds of the episode and return whether it did; if not, it is sent again later."""
        return await self._drop_queue.drop(service, context)

    async def _send_drop(self, service: str, context: CallContext) -> bool:
        return await self._try_control_call(service, "drop", context)

    async def _try_control_call(
        self, service: str, verb: str, context: CallContext, request: BaseModel | None = None
    ) -> bool:
        content = b"{}" if request is None else request.model_dump_json().encode()
        try:
            response = await self.clients[service].send(ServiceCall("POST", f"/control/{verb}", content), context)
        except InfrastructureError:
            _log.warning("%s: %s of %s was not answered", service, verb, context.episode)
            return False
        if response.is_error:
            _log.warning("%s: %s of %s answered %d", service, verb, context.episode, response.status_code)
        return response.is_success

    async def _call_with_reload(
        self,
        service: str,
        context: CallContext,
        content: ReloadContent,
        send: Callable[[], Awaitable[T]],
    ) -> T:
        try:
            return await send()
        except UnknownSourceError as unknown:
            if content is None:
                raise InfrastructureError(f"{service}: the snapshot of the episode is gone.") from unknown
            await self.load(service, context, content())
            return await send()


def _base_content(service: str, source: str) -> bytes:
    return load_content(service, base_document(service, source))
