"""The services over HTTP, each by its name; one that forgot a source is sent the document and asked again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

from pydantic import BaseModel

from companyos_gateway.episode.admission import Places
from companyos_gateway.episode.clearing import Clearing
from companyos_gateway.episode.errors import HouseFault, ServicesDown, SnapshotCorrupt, SnapshotLost
from companyos_gateway.episode.leases import SERVICE_CONTEXT, Leases
from companyos_gateway.episode.link import (
    Reported,
    ServiceAnswer,
    ServiceCall,
    ServiceLink,
    SourceCorrupt,
    SourceUnknown,
)
from companyos_shared.telemetry.traces import NO_TRACES, Traces
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
    LoadRequest,
    QuarantineReply,
    QuarantineRequest,
    SettleRequest,
    SnapshotReply,
)

_log = logging.getLogger(__name__)

T = TypeVar("T")

Document = Callable[[], dict[str, Any]]
"""What a service is planted with, made where it is needed."""

Planting = Document | None
"""The document of a source that can be planted again; None for a snapshot, which cannot."""


class Cluster:
    """All services by name. Whoever closes it closes every connection."""

    def __init__(self, links: Mapping[str, ServiceLink]) -> None:
        self.links = dict(links)
        self._places = {name: Places(name) for name in links}
        self._clearing = Clearing(links, self._told_to_drop)
        self._leases = Leases(links)

    @classmethod
    def at(cls, addresses: Mapping[str, str], key: bytes, traces: Traces = NO_TRACES) -> Cluster:
        """Return the cluster of these addresses."""
        return cls({name: ServiceLink(name, address, key, traces=traces) for name, address in addresses.items()})

    @property
    def after_last_drop(self) -> Callable[[str], None] | None:
        """What is done with an episode's id once every service has answered a drop that was sent again."""
        return self._clearing.after_last

    @after_last_drop.setter
    def after_last_drop(self, done: Callable[[str], None]) -> None:
        self._clearing.after_last = done

    def place(self, service: str | None) -> AbstractAsyncContextManager[None]:
        """Return a place with a service, to be held while a step is taken; a step that calls none needs none."""
        return nullcontext() if service is None else self._places[service].one()

    async def aclose(self) -> None:
        """Close every link."""
        await self._clearing.aclose()
        await self._leases.aclose()
        await asyncio.gather(*(link.aclose() for link in self.links.values()))

    async def lease(self, owner: str, *, take_over: bool = False) -> None:
        """Take the lease of every service, which is waited for; raises LeaseHeldError or ServiceRefusalError."""
        await self._leases.take(owner, take_over=take_over)

    def check_lease(self) -> None:
        """Raise ServicesDown (503) where another gateway has taken over a service."""
        lost = sorted(name for name, link in self.links.items() if link.superseded)
        if lost:
            raise ServicesDown(f"Another gateway has taken over {', '.join(lost)}.")

    async def readiness(self) -> dict[str, bool]:
        """Return by name whether each service is ready."""
        answers = await asyncio.gather(*(link.is_ready() for link in self.links.values()))
        return dict(zip(self.links, answers, strict=True))

    async def openapi(self) -> dict[str, dict[str, Any]]:
        """Return every service's OpenAPI document; raises ServicesDown."""
        found = await asyncio.gather(*(link.openapi() for link in self.links.values()))
        return dict(zip(self.links, found, strict=True))

    async def load(self, service: str, context: CallContext, document: Document) -> LoadReply:
        """Make sure that the service has the source of the context, and return its rows at rest."""
        return await self.links[service].ask("load", LoadReply, context, _load_request(context, document))

    async def call(self, service: str, call: ServiceCall, context: CallContext, document: Planting) -> ServiceAnswer:
        """Carry one call of the agent; a service that forgot the source is sent the document and asked again."""
        link = self.links[service]
        return await self._planted(service, context, document, lambda: link.call(call, context))

    async def settle(self, service: str, context: CallContext, document: Planting, *, after: int) -> Reported:
        """Let everything that is due at the context's now happen; the report holds the changes behind `after`."""
        link, asked = self.links[service], SettleRequest(after=after)
        return await self._planted(service, context, document, lambda: link.settle(context, asked))

    async def snapshot(self, service: str, context: CallContext, document: Planting) -> str:
        """Keep the epoch as it is now as a source, and return its id."""
        link = self.links[service]
        reply = await self._planted(service, context, document, lambda: link.ask("snapshot", SnapshotReply, context))
        return reply.source

    async def check(self, service: str, context: CallContext) -> None:
        """Raise SnapshotLost or SnapshotCorrupt (410) where a service cannot begin an epoch from the source."""
        asked = CheckRequest(source=context.source)
        try:
            await self.links[service].ask("check", CheckReply, context, asked)
        except SourceCorrupt as corrupt:
            raise SnapshotCorrupt(f"The database of {service} is not what it was.") from corrupt
        except SourceUnknown as unknown:
            raise SnapshotLost(f"The database of {service} is gone.") from unknown

    async def forget(self, service: str, context: CallContext) -> bool:
        """Let a service forget a snapshot and return whether it did."""
        return await self._tried(service, "forget", context, ForgetRequest(source=context.source))

    async def inventory(self, service: str) -> InventoryReply:
        """Return everything that a service holds of episodes and snapshots."""
        return await self.links[service].ask("inventory", InventoryReply, SERVICE_CONTEXT)

    async def quarantine(self, service: str, asked: QuarantineRequest) -> QuarantineReply:
        """Let a service move episodes and snapshots into its quarantine, and return the entries made."""
        return await self.links[service].ask("quarantine", QuarantineReply, SERVICE_CONTEXT, asked)

    async def quarantined(self, service: str) -> QuarantineReply:
        """Return the quarantine of a service."""
        return await self.links[service].ask("quarantine/list", QuarantineReply, SERVICE_CONTEXT)

    async def restore_quarantined(self, service: str, entries: list[str]) -> QuarantineReply:
        """Let a service move entries of its quarantine back; raises ServiceRefusalError."""
        asked = EntriesRequest(entries=entries)
        return await self.links[service].ask("quarantine/restore", QuarantineReply, SERVICE_CONTEXT, asked)

    async def remove_quarantined(self, service: str, entries: list[str]) -> QuarantineReply:
        """Let a service delete entries of its quarantine; raises ServiceRefusalError."""
        asked = EntriesRequest(entries=entries)
        return await self.links[service].ask("quarantine/remove", QuarantineReply, SERVICE_CONTEXT, asked)

    async def export(self, service: str, context: CallContext, document: Planting) -> bytes:
        """Return a copy of the database that the epoch is played on."""
        link = self.links[service]
        return await self._planted(service, context, document, lambda: link.export(context))

    async def digest(self, service: str, context: CallContext, document: Planting = None) -> DigestReply:
        """Return the digests over the rows that the epoch holds."""
        link = self.links[service]
        return await self._planted(service, context, document, lambda: link.ask("digest", DigestReply, context))

    async def evidence(self, service: str, context: CallContext) -> EvidenceReply:
        """Return everything that the service recorded of the epoch."""
        return await self.links[service].ask("evidence", EvidenceReply, context)

    async def drop(self, service: str, context: CallContext) -> bool:
        """Free what the service holds of the episode and return whether it did; if not, it is sent again later."""
        return await self._clearing.drop(service, context)

    async def _told_to_drop(self, service: str, context: CallContext) -> bool:
        return await self._tried(service, "drop", context)

    async def _tried(self, service: str, verb: str, context: CallContext, asked: BaseModel | None = None) -> bool:
        content = b"{}" if asked is None else asked.model_dump_json().encode()
        try:
            answer = await self.links[service].send(ServiceCall("POST", f"/control/{verb}", content), context)
        except HouseFault:
            _log.warning("%s: %s of %s was not answered", service, verb, context.episode)
            return False
        if answer.is_error:
            _log.warning("%s: %s of %s answered %d", service, verb, context.episode, answer.status_code)
        return answer.is_success

    async def _planted(
        self,
        service: str,
        context: CallContext,
        document: Planting,
        send: Callable[[], Awaitable[T]],
    ) -> T:
        try:
            return await send()
        except SourceUnknown as unknown:
            if document is None:
                raise HouseFault(f"{service}: the snapshot of the episode is gone.") from unknown
            await self.load(service, context, document)
            return await send()


def _load_request(context: CallContext, document: Document) -> LoadRequest:
    return LoadRequest(source=context.source, document=document())
