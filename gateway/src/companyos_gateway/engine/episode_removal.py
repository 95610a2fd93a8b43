"""Removal of ended episodes from the files and the services."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.episode_files import EpisodeFiles
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_shared.wire.context import Actor, CallContext

Contexts = Mapping[str, CallContext]
"""Contexts of calls by service."""

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_log = logging.getLogger(__name__)


class EpisodeRemover:
    """Marks episodes as ended, sends drops to the services, and removes the files once all services have confirmed."""

    def __init__(self, service_clients: ServiceClients, files: EpisodeFiles) -> None:
        self._service_clients = service_clients
        self._files = files
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_drop: Callable[[], Awaitable[None]] | None = None
        """Called after the drops of an episode were sent."""
        service_clients.on_last_drop = files.delete_ended

    def __len__(self) -> int:
        return len(self._tasks)

    def end(self, episode: Episode) -> None:
        """Mark an episode as ended and drop it in the services; if marking fails, the next start restores it."""
        try:
            self._files.mark_ended(episode.internal_id)
        except OSError as error:
            _log.error("failed to mark the episode %s as ended; it is kept: %s", episode.internal_id, error)
            return

        def contexts() -> Contexts:
            return {name: episode.context(name, Actor.TRAINER) for name in sorted(episode.progress.touched)}

        self._begin(episode.internal_id, contexts, episode.lock)

    def resume_drop(self, internal_id: str, contexts: Contexts) -> None:
        """Drop in the services an episode that was marked as ended before this start."""
        self._begin(internal_id, lambda: contexts)

    async def wait(self) -> None:
        """Wait until all drops in progress are sent."""
        await asyncio.gather(*self._tasks)

    def _begin(self, internal_id: str, contexts: Callable[[], Contexts], lock: asyncio.Lock | None = None) -> None:
        task = asyncio.get_running_loop().create_task(self._drop(internal_id, contexts, lock))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drop(self, internal_id: str, contexts: Callable[[], Contexts], lock: asyncio.Lock | None) -> None:
        """Wait for the episode's step in progress, if any, then drop the episode in the services."""
        async with lock or nullcontext():
            calls = [self._service_clients.drop(service, context) for service, context in contexts().items()]
            answered = await asyncio.gather(*calls)
        if all(answered):
            self._files.delete_ended(internal_id)
        if self.on_drop is not None:
            await self.on_drop()


def control_context(episode: str, epoch: int, source: str) -> CallContext:
    """Return the context of a control call for an episode that is not live, or for a snapshot."""
    return CallContext(episode=episode, epoch=epoch, source=source, step=0, actor=Actor.TRAINER, now=_UNIX_EPOCH)
