"""HTTP clients of all services, by name; if a service has lost a source, it is loaded again and the call repeated."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal, TypeVar

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from companyos_gateway.engine.concurrency import ConcurrencyLimiter
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
    DropRequest,
    EntriesRequest,
    EvidenceReply,
    ForgetRequest,
    InventoryReply,
    LoadReply,
    QuarantineReply,
    QuarantineRequest,
    SettleRequest,
    SnapshotReply,
)

_log = logging.getLogger(__name__)

T = TypeVar("T")

ReadSeedDocument = Callable[[], bytes] | None
"""Returns the seed document of a source as JSON, to load it again; None for a snapshot, which cannot be loaded."""


class ServiceClients:
    """Clients of all services by name, with their leases."""

    def __init__(self, clients: Mapping[str, ServiceClient]) -> None:
        self.clients = dict(clients)
        self.step_timeout_s = STEP_TIMEOUT_S
        self._limiters = {name: ConcurrencyLimiter(name) for name in clients}
        self._leases = Leases(clients)

    @classmethod
    def from_addresses(cls, addresses: Mapping[str, str], key: bytes, traces: Traces = NO_TRACES) -> ServiceClients:
        """Create the clients of these addresses."""
        return cls({name: ServiceClient(name, address, key, traces=traces) for name, address in addresses.items()})

    def set_step_timeout(self, seconds: float) -> None:
        """Set the timeout of a step and of its calls."""
        self.step_timeout_s = seconds
        for client in self.clients.values():
            client.step_timeout_s = seconds

    def step_slot(self, service: str | None) -> AbstractAsyncContextManager[None]:
        """Return a slot of a service, to be held during a step; without a service it has no effect."""
        return nullcontext() if service is None else self._limiters[service]

    async def aclose(self) -> None:
        """Release the leases and close all connections."""
        await self._leases.aclose()
        await asyncio.gather(*(client.aclose() for client in self.clients.values()))

    async def lease(self, owner: str, *, take_over: bool = False) -> None:
        """Acquire the lease of every service once it responds; raises LeaseHeldError or ServiceRefusalError."""
        await self._leases.acquire(owner, take_over=take_over)

    def check_lease(self) -> None:
        """Raise ServicesUnavailableError (503) if another gateway has taken over a service."""
        superseded_names = sorted(name for name, client in self.clients.items() if client.is_superseded)
        if superseded_names:
            raise ServicesUnavailableError(f"Another gateway has taken over {', '.join(superseded_names)}.")

    async def readiness(self) -> dict[str, bool]:
        """Return whether each service is ready, by name."""
        results = await asyncio.gather(*(client.is_ready() for client in self.clients.values()))
        return dict(zip(self.clients, results, strict=True))

    async def openapi(self) -> dict[str, dict[str, Any]]:
        """Return every service's OpenAPI document; raises ServicesUnavailableError."""
        documents = await asyncio.gather(*(client.openapi() for client in self.clients.values()))
        return dict(zip(self.clients, documents, strict=True))

    async def load(self, service: str, context: CallContext, content: bytes) -> LoadReply:
        """Load the source of a seed document in a service, if it is missing there, and return its initial rows.

        If the service does not have the base of the document, the base is loaded first.
        """
        client = self.clients[service]
        try:
            return await client.control_call("load", LoadReply, context, content)
        except UnknownBaseError:
            await self._load_base(client, context, from_json(content)["base"])
            return await client.control_call("load", LoadReply, context, content)

    async def _load_base(self, client: ServiceClient, context: CallContext, source: str) -> None:
        content = await asyncio.to_thread(_base_content, client.name, source)
        await client.control_call("load-base", LoadReply, context.model_copy(update={"source": source}), content)

    async def call(
        self, service: str, call: ServiceCall, context: CallContext, document: ReadSeedDocument
    ) -> ServiceResponse:
        """Send one call of the agent; if the service has lost the source, load it again and repeat the call."""
        client = self.clients[service]
        return await self._call_with_reload(service, context, document, lambda: client.call(call, context))

    async def settle(
        self, service: str, context: CallContext, document: ReadSeedDocument, *, after: int
    ) -> ReceivedReport:
        """Apply all events that are due at the context's `now`; the report contains the changes after `after`."""
        client, request = self.clients[service], SettleRequest(after=after)
        return await self._call_with_reload(service, context, document, lambda: client.settle(context, request))

    async def snapshot(self, service: str, context: CallContext, document: ReadSeedDocument) -> str:
        """Store the current state of the epoch as a source, and return its id."""
        client = self.clients[service]
        reply = await self._call_with_reload(
            service, context, document, lambda: client.control_call("snapshot", SnapshotReply, context)
        )
        return reply.source

    async def check(self, service: str, context: CallContext) -> None:
        """Check that an epoch can start from the source; raises LostSnapshotError or CorruptSnapshotError (410)."""
        request = CheckRequest(source=context.source)
        try:
            await self.clients[service].control_call("check", CheckReply, context, request)
        except CorruptSourceError as corrupt:
            raise CorruptSnapshotError(f"The database of {service} is damaged or of another version.") from corrupt
        except UnknownSourceError as unknown:
            raise LostSnapshotError(f"The database of {service} is missing.") from unknown

    async def forget(self, service: str, context: CallContext) -> bool:
        """Request a service to delete a snapshot and return whether it confirmed."""
        return await self._try_control_call(service, "forget", context, ForgetRequest(source=context.source))

    async def inventory(self, service: str) -> InventoryReply:
        """Return all episodes and snapshots of a service."""
        return await self.clients[service].control_call("inventory", InventoryReply, SERVICE_CONTEXT)

    async def quarantine(self, service: str, request: QuarantineRequest) -> QuarantineReply:
        """Move episodes and snapshots of a service to its quarantine, and return the created entries."""
        return await self.clients[service].control_call("quarantine", QuarantineReply, SERVICE_CONTEXT, request)

    async def quarantined(self, service: str) -> QuarantineReply:
        """Return the entries in the quarantine of a service."""
        return await self.clients[service].control_call("quarantine/list", QuarantineReply, SERVICE_CONTEXT)

    async def move_quarantined(self, service: str, entry: str, verb: Literal["restore", "remove"]) -> None:
        """Move an entry of a service's quarantine back, or delete it; raises ServiceRefusalError."""
        request = EntriesRequest(entries=[entry])
        await self.clients[service].control_call(f"quarantine/{verb}", QuarantineReply, SERVICE_CONTEXT, request)

    async def export(self, service: str, context: CallContext, document: ReadSeedDocument) -> bytes:
        """Return a copy of the epoch's database."""
        client = self.clients[service]
        return await self._call_with_reload(service, context, document, lambda: client.export(context))

    async def digest(self, service: str, context: CallContext, document: ReadSeedDocument = None) -> DigestReply:
        """Return the digest of the epoch's content rows."""
        client = self.clients[service]
        return await self._call_with_reload(
            service, context, document, lambda: client.control_call("digest", DigestReply, context)
        )

    async def evidence(self, service: str, context: CallContext) -> EvidenceReply:
        """Return the evidence of the epoch in a service."""
        return await self.clients[service].control_call("evidence", EvidenceReply, context)

    async def drop(self, service: str, episodes: Sequence[str]) -> bool:
        """Request a service to delete ended episodes, by internal id, and return whether it confirmed."""
        return await self._try_control_call(service, "drop", SERVICE_CONTEXT, DropRequest(episodes=episodes))

    async def _try_control_call(self, service: str, verb: str, context: CallContext, request: BaseModel) -> bool:
        call = ServiceCall("POST", f"/control/{verb}", request.model_dump_json().encode())
        try:
            response = await self.clients[service].send(call, context)
        except InfrastructureError:
            _log.warning("%s: %s was not answered: %s", service, verb, request)
            return False
        if response.is_error:
            _log.warning("%s: %s answered %d: %s", service, verb, response.status_code, request)
        return response.is_success

    async def _call_with_reload(
        self,
        service: str,
        context: CallContext,
        document: ReadSeedDocument,
        send: Callable[[], Awaitable[T]],
    ) -> T:
        try:
            return await send()
        except UnknownSourceError as unknown:
            if document is None:
                raise InfrastructureError(f"{service}: the snapshot of the episode is missing.") from unknown
            await self.load(service, context, document())
            return await send()


def _base_content(service: str, source: str) -> bytes:
    return to_json(base_document(service, source))
