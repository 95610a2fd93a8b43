"""Queue of ended episodes that one service has to drop, sent in batches and retried until the service confirms them.

Batches are limited, so that mass disconnects do not block the service. Internal ids are never reused, so a late drop
does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

MAX_BATCH = 16
COLLECT_S = 0.2
"""Time for which ended episodes are collected. Drops then rarely compete with the first calls of the next episode."""

RETRY_INTERVAL_S = 5.0

_log = logging.getLogger(__name__)

SendDrops = Callable[[Sequence[str]], Awaitable[bool]]
"""Sends a drop request for episodes, and returns whether the service confirmed it."""


class DropQueue:
    """Episodes, by internal id, whose drop the service has not confirmed yet."""

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
