"""The services over HTTP, each by its name; one that forgot a source is sent the document and asked again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from companyos_gateway.episode.errors import HouseFault
from companyos_gateway.episode.link import ServiceAnswer, ServiceCall, ServiceLink, SourceUnknown
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import DigestReply, EvidenceReply, LoadReply, LoadRequest, Report, SettleRequest

_log = logging.getLogger(__name__)

T = TypeVar("T")

Document = Callable[[], dict[str, Any]]
"""What a service is planted with, made where it is needed."""


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

    async def load(self, service: str, context: CallContext, document: Document) -> LoadReply:
        """Make sure that the service has the source of the context, and return its rows at rest."""
        return await self.links[service].ask("load", LoadReply, context, _load_request(context, document))

    async def call(self, service: str, call: ServiceCall, context: CallContext, document: Document) -> ServiceAnswer:
        """Carry one call of the agent; a service that forgot the source is sent the document and asked again."""
        link = self.links[service]
        return await self._planted(service, context, document, lambda: link.call(call, context))

    async def settle(self, service: str, context: CallContext, document: Document, *, after: int) -> Report:
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
        document: Document,
        send: Callable[[], Awaitable[T]],
    ) -> T:
        try:
            return await send()
        except SourceUnknown:
            await self.load(service, context, document)
            return await send()


def _load_request(context: CallContext, document: Document) -> LoadRequest:
    return LoadRequest(source=context.source, document=document())
