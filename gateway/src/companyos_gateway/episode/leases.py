"""The leases of a gateway: one per service, taken at the start, renewed while it runs, released at its end."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256

from pydantic import BaseModel

from companyos_gateway.episode.errors import HouseFault, LeaseHeldError, ServiceRefusalError
from companyos_gateway.episode.link import STALE_GENERATION, ServiceLink
from companyos_shared.wire.context import Actor, CallContext
from companyos_shared.wire.control import LeaseReply, LeaseRequest, ReleaseRequest, RenewRequest

RENEWALS_PER_LIFETIME = 3
RELEASE_DEADLINE_S = 0.5
RETRY_PAUSE_S = 0.2

SERVICE_CONTEXT = CallContext(
    episode="service", epoch=1, source="0" * 64, step=0, actor=Actor.TRAINER, now=datetime(1970, 1, 1, tzinfo=UTC)
)
"""The context of control calls that are about a service and not about an episode."""

_OWNER_LENGTH = 32
_LEASE_HELD = "lease-held"
_log = logging.getLogger(__name__)


def owner_of(secret: bytes) -> str:
    """Return the owner that a gateway names in its leases: it follows from the secret that its folder keeps."""
    return hmac.digest(secret, b"lease owner", sha256).hex()[:_OWNER_LENGTH]


class Released(BaseModel):
    """The answer to a release."""

    released: str


class Leases:
    """The leases of one gateway process."""

    def __init__(self, links: Mapping[str, ServiceLink]) -> None:
        self._links = links
        self._owner: str | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def take(self, owner: str, *, take_over: bool) -> None:
        """Take the lease of every service; one that does not answer is waited for.

        Raises LeaseHeldError, or ServiceRefusalError for any other refusal.
        """
        self._owner = owner
        asked = LeaseRequest(owner=owner, take_over=take_over)
        granted = await asyncio.gather(*(self._take_one(link, asked) for link in self._links.values()))
        if self._renewing is None and granted:
            pause_s = min(lease.lifetime_s for lease in granted) / RENEWALS_PER_LIFETIME
            self._renewing = asyncio.create_task(self._renew(pause_s))

    async def _take_one(self, link: ServiceLink, asked: LeaseRequest) -> LeaseReply:
        while True:
            try:
                granted = await link.ask("lease", LeaseReply, SERVICE_CONTEXT, asked)
            except ServiceRefusalError as refusal:
                if refusal.code == STALE_GENERATION:
                    await asyncio.sleep(RETRY_PAUSE_S)
                    continue
                if refusal.code != _LEASE_HELD:
                    raise
                raise LeaseHeldError(
                    f"The service {link.name} belongs to another gateway. {refusal.detail} "
                    "COMPANYOS_TAKE_OVER=1 takes it over and ends that gateway's episodes."
                ) from refusal
            except HouseFault as fault:
                _log.warning("the lease of %s is asked for again: %s", link.name, fault)
                await asyncio.sleep(RETRY_PAUSE_S)
                continue
            link.signer.generation, link.superseded = granted.generation, False
            return granted

    async def aclose(self) -> None:
        """Renew no more, and release what is still held."""
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing
            await asyncio.gather(*(self._release(link) for link in self._links.values()))

    async def _renew(self, pause_s: float) -> None:
        while True:
            await asyncio.sleep(pause_s)
            await asyncio.gather(*(self._renew_one(link) for link in self._links.values() if not link.superseded))

    async def _renew_one(self, link: ServiceLink) -> None:
        try:
            await link.ask("renew", LeaseReply, SERVICE_CONTEXT, RenewRequest(owner=self._owner or ""))
        except ServiceRefusalError as refusal:
            if refusal.code == STALE_GENERATION:
                _log.critical("another gateway has taken over the service %s: %s", link.name, refusal.detail)
        except HouseFault as fault:
            _log.warning("the lease of %s was not renewed: %s", link.name, fault)

    async def _release(self, link: ServiceLink) -> None:
        if link.superseded or not link.signer.generation:
            return
        with suppress(HouseFault, TimeoutError):
            async with asyncio.timeout(RELEASE_DEADLINE_S):
                await link.ask("release", Released, SERVICE_CONTEXT, ReleaseRequest(owner=self._owner or ""))
