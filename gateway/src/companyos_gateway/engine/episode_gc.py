"""Queue of drop requests to services, with limited concurrency and retries.

The limit prevents mass disconnects from overloading the services. Internal ids are never reused, so a late drop does no
harm.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from companyos_shared.wire.context import CallContext

MAX_CONCURRENT_DROPS = 16
RETRY_INTERVAL_S = 5.0

SendDrop = Callable[[str, CallContext], Awaitable[bool]]
"""Sends a drop request to a service, and returns whether the service confirmed it."""


class DropQueue:
    """Queue of drops that services have not confirmed yet."""

    def __init__(self, services: Iterable[str], send: SendDrop) -> None:
        self._send = send
        self._semaphores = {service: asyncio.Semaphore(MAX_CONCURRENT_DROPS) for service in services}
        self._pending: list[tuple[str, CallContext]] = []
        self._pending_by_episode: Counter[str] = Counter()
        """Number of unconfirmed drops by episode."""
        self._unresponsive: set[str] = set()
        self._retry_task: asyncio.Task[None] | None = None
        self.on_last_drop: Callable[[str], None] | None = None
        """Called with an episode's id when a retry has confirmed its last pending drop."""

    @property
    def pending_count(self) -> int:
        """The number of unconfirmed drops."""
        return len(self._pending)

    async def drop(self, service: str, context: CallContext) -> bool:
        """Request a drop from a service and return whether it confirmed; if not, the request is retried later."""
        async with self._semaphores[service]:
            if service not in self._unresponsive and await self._send(service, context):
                return True
        self._unresponsive.add(service)
        self._enqueue(service, context)
        if self._retry_task is None:
            self._retry_task = asyncio.get_running_loop().create_task(self._retry_until_empty())
        return False

    async def aclose(self) -> None:
        """Stop the retries; unconfirmed drops are sent again after the next start."""
        if self._retry_task is not None:
            self._retry_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._retry_task

    async def _retry_until_empty(self) -> None:
        while self._pending:
            await asyncio.sleep(RETRY_INTERVAL_S)
            pending, self._pending = self._pending, []
            self._unresponsive.clear()
            for service, context in pending:
                await self._retry(service, context)
        self._retry_task = None

    async def _retry(self, service: str, context: CallContext) -> None:
        self._pending_by_episode[context.episode] -= 1
        if service in self._unresponsive or not await self._send(service, context):
            self._unresponsive.add(service)
            self._enqueue(service, context)
        elif not self._pending_by_episode[context.episode]:
            del self._pending_by_episode[context.episode]
            if self.on_last_drop is not None:
                self.on_last_drop(context.episode)

    def _enqueue(self, service: str, context: CallContext) -> None:
        self._pending.append((service, context))
        self._pending_by_episode[context.episode] += 1
