"""The leases of a gateway: one per service, acquired at start, renewed while it runs, and released at shutdown."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256

from pydantic import BaseModel

from companyos_gateway.engine.errors import InfrastructureError, LeaseHeldError, ServiceRefusalError
from companyos_gateway.engine.service_client import STALE_GENERATION, ServiceClient
from companyos_shared.wire.context import Actor, CallContext
from companyos_shared.wire.control import LeaseReply, LeaseRequest, ReleaseRequest, RenewRequest

RENEWALS_PER_LIFETIME = 3
RELEASE_DEADLINE_S = 0.5
RETRY_DELAY_S = 0.2

SERVICE_CONTEXT = CallContext(
    episode="service", epoch=1, source="0" * 64, step=0, actor=Actor.TRAINER, now=datetime(1970, 1, 1, tzinfo=UTC)
)
"""The context of control calls that concern a service and not an episode."""

_OWNER_LENGTH = 32
_LEASE_HELD = "lease-held"
_log = logging.getLogger(__name__)


def derive_owner(secret: bytes) -> str:
    """Return the owner of a gateway's leases, which is derived from the secret in its folder."""
    return hmac.digest(secret, b"lease owner", sha256).hex()[:_OWNER_LENGTH]


class ReleaseReply(BaseModel):
    """The response to a release."""

    released: str


class Leases:
    """The leases of one gateway process."""

    def __init__(self, clients: Mapping[str, ServiceClient]) -> None:
        self._clients = clients
        self._owner: str | None = None
        self._renewals: list[asyncio.Task[None]] = []

    async def acquire(self, owner: str, *, take_over: bool) -> None:
        """Acquire the lease of every service, retrying until each service responds.

        Raises LeaseHeldError, or ServiceRefusalError for any other refusal.
        """
        self._owner = owner
        request = LeaseRequest(owner=owner, take_over=take_over)
        requests = [asyncio.create_task(self._acquire_one(client, request)) for client in self._clients.values()]
        try:
            granted = await asyncio.gather(*requests)
        except BaseException:
            await asyncio.wait(requests, timeout=RELEASE_DEADLINE_S)  # those that are granted now can be released
            for pending in requests:
                pending.cancel()
            raise
        self._renewals = [
            asyncio.create_task(self._renew(client, lease.lifetime_s / RENEWALS_PER_LIFETIME))
            for client, lease in zip(self._clients.values(), granted, strict=True)
        ]

    async def _acquire_one(self, client: ServiceClient, request: LeaseRequest) -> LeaseReply:
        while True:
            try:
                granted = await client.control_call("lease", LeaseReply, SERVICE_CONTEXT, request)
            except ServiceRefusalError as refusal:
                if refusal.code == STALE_GENERATION:
                    await asyncio.sleep(RETRY_DELAY_S)
                    continue
                if refusal.code != _LEASE_HELD:
                    raise
                raise LeaseHeldError(
                    f"The service {client.name} is leased to another gateway. {refusal.detail} "
                    "COMPANYOS_TAKE_OVER=1 takes it over and ends that gateway's episodes."
                ) from refusal
            except InfrastructureError as fault:
                _log.warning("requesting the lease of %s again: %s", client.name, fault)
                await asyncio.sleep(RETRY_DELAY_S)
                continue
            client.signer.generation, client.is_superseded = granted.generation, False
            return granted

    async def aclose(self) -> None:
        """Stop the renewals, and release the leases that are still held."""
        for renewal in self._renewals:
            renewal.cancel()
        await asyncio.gather(*self._renewals, return_exceptions=True)
        await asyncio.gather(*(self._release(client) for client in self._clients.values()))

    async def _renew(self, client: ServiceClient, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            if not client.is_superseded:
                await self._renew_one(client)

    async def _renew_one(self, client: ServiceClient) -> None:
        try:
            await client.control_call("renew", LeaseReply, SERVICE_CONTEXT, RenewRequest(owner=self._owner or ""))
        except ServiceRefusalError as refusal:
            if refusal.code == STALE_GENERATION:
                _log.critical("another gateway has taken over the service %s: %s", client.name, refusal.detail)
        except InfrastructureError as fault:
            _log.warning("the lease of %s was not renewed: %s", client.name, fault)

    async def _release(self, client: ServiceClient) -> None:
        if client.is_superseded or not client.signer.generation:
            return
        with suppress(InfrastructureError, TimeoutError):
            async with asyncio.timeout(RELEASE_DEADLINE_S):
                await client.control_call(
                    "release", ReleaseReply, SERVICE_CONTEXT, ReleaseRequest(owner=self._owner or "")
                )
