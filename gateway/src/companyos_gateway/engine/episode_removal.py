"""Removal of ended episodes from the files and the services."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from companyos_gateway.engine.concurrency import start_task
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.episode_files import EpisodeFiles
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_shared.wire.context import Actor, CallContext

MAX_BATCH = 16
COLLECT_S = 0.2
"""Time for which ended episodes are collected. Drops then rarely compete with the first calls of the next episode."""

RETRY_INTERVAL_S = 5.0

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_log = logging.getLogger(__name__)

SendDrops = Callable[[Sequence[str]], Awaitable[bool]]
"""Sends a drop request for episodes, and returns whether the service confirmed it."""


class DropQueue:
    """Episodes, by internal id, that one service has to drop; retried until the service confirms them.

    Batches are limited, so that mass disconnects do not block the service. Internal ids are never reused, so a late
    drop does no harm.
    """

    def __init__(self, send: SendDrops, on_confirmed: Callable[[str], None]) -> None:
        """Create an empty queue; `on_confirmed` is called with each episode that the service has dropped."""
        self._send = send
        self._on_confirmed = on_confirmed
        self._episodes: dict[str, None] = {}
        self._is_responsive = True
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def add(self, episode: str) -> None:
        """Add an ended episode."""
        self._episodes[episode] = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send_until_empty())

    async def flush(self) -> None:
        """Send every episode now. If the service does not respond, the next retry sends them."""
        async with self._lock:
            waiting = list(self._episodes) if self._is_responsive else []
            for start in range(0, len(waiting), MAX_BATCH):
                batch = waiting[start : start + MAX_BATCH]
                self._is_responsive = await self._send(batch)
                if not self._is_responsive:
                    return
                for episode in batch:
                    del self._episodes[episode]
                    self._on_confirmed(episode)

    async def aclose(self) -> None:
        """Stop the retries; unconfirmed drops are sent again after the next start."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _send_until_empty(self) -> None:
        try:
            while self._episodes:
                await asyncio.sleep(COLLECT_S if self._is_responsive else RETRY_INTERVAL_S)
                self._is_responsive = True
                try:
                    await self.flush()
                except Exception:  # noqa: BLE001 - otherwise the queue would stop
                    _log.exception("failed to drop ended episodes; this is retried")
                    self._is_responsive = False
        finally:
            self._task = None


class EpisodeRemover:
    """Marks episodes as ended, drops them in the services, and removes the files once all services have confirmed."""

    def __init__(self, service_clients: ServiceClients, files: EpisodeFiles) -> None:
        self._files = files
        self._queues = {
            service: DropQueue(partial(service_clients.drop, service), partial(self._confirm, service))
            for service in service_clients.clients
        }
        self._unconfirmed: dict[str, set[str]] = {}
        """The services that have not confirmed the drop yet, by internal id."""
        self._ending: set[asyncio.Task[None]] = set()
        """Tasks that wait for the step in progress of an ended episode."""
        self._after_end: set[asyncio.Task[None]] = set()
        """Calls of `on_end`."""
        self.on_end: Callable[[], Coroutine[Any, Any, None]] | None = None
        """Called after an episode has ended and its step in progress, if any, has completed."""

    def __len__(self) -> int:
        return len(self._ending) + len(self._unconfirmed)

    def end(self, episode: Episode) -> None:
        """Mark an episode as ended and drop it in the services; if marking fails, the next start restores it."""
        try:
            self._files.mark_ended(episode.internal_id)
        except OSError as error:
            _log.error("failed to mark the episode %s as ended; it is kept: %s", episode.internal_id, error)
            return
        start_task(self._ending, self._end(episode))

    def drop(self, internal_id: str, services: Collection[str]) -> None:
        """Drop an episode that is marked as ended in these services, then remove its files."""
        if not services:
            self._files.delete_ended(internal_id)
            return
        self._unconfirmed[internal_id] = set(services)
        for service in sorted(services):
            self._queues[service].add(internal_id)

    async def flush(self) -> None:
        """Send all drops now, and wait for the responses."""
        await asyncio.gather(*self._ending)
        await asyncio.gather(*(queue.flush() for queue in self._queues.values()))
        await asyncio.gather(*self._after_end)

    async def aclose(self) -> None:
        """Send all drops to the services that respond, and stop retrying the others."""
        try:
            await self.flush()
        finally:
            await asyncio.gather(*(queue.aclose() for queue in self._queues.values()))

    async def _end(self, episode: Episode) -> None:
        async with episode.lock:
            self.drop(episode.internal_id, episode.progress.touched)
        if self.on_end is not None:
            start_task(self._after_end, self.on_end())

    def _confirm(self, service: str, internal_id: str) -> None:
        services = self._unconfirmed[internal_id]
        services.discard(service)
        if not services:
            del self._unconfirmed[internal_id]
            self._files.delete_ended(internal_id)


def control_context(episode: str, epoch: int, source: str) -> CallContext:
    """Return the context of a control call for an episode that is not live, or for a snapshot."""
    return CallContext(episode=episode, epoch=epoch, source=source, step=0, actor=Actor.TRAINER, now=_UNIX_EPOCH)
