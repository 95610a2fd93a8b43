"""Plans tasks ahead of their resets, so that the resets find them in the cache."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from contextlib import suppress

from companyos.contract import ResetOptions
from companyos_gateway.engine.reset_request import Start, following_tasks, task_key
from companyos_gateway.engine.task_cache import TaskCache
from companyos_gateway.tasks import TaskSet

QUIET_S, MAX_WAIT_S = 0.02, 0.1
"""A task is planned once no reset or step has begun for QUIET_S seconds, and after MAX_WAIT_S seconds in any case."""

_log = logging.getLogger(__name__)


class Prefetcher:
    """Plans one task at a time, if possible in pauses between requests, because it slows down concurrent requests.

    At most half as many tasks as fit in the cache are queued; the oldest are dropped.
    """

    def __init__(self, task_cache: TaskCache, task_set: TaskSet) -> None:
        self._task_cache = task_cache
        self._task_set = task_set
        self._queue: OrderedDict[Start, None] = OrderedDict()
        self._worker: asyncio.Task[None] | None = None
        self._request_at = 0.0

    def record_request(self) -> None:
        """Record that a reset or a step begins."""
        self._request_at = time.monotonic()

    def plan_after(self, options: ResetOptions) -> None:
        """Queue the tasks that follow the task of a reset, up to its `prefetch`."""
        most = self._task_cache.max_size // 2
        self._queue.update(dict.fromkeys(following_tasks(options, self._task_set)[:most]))
        while len(self._queue) > most:
            self._queue.popitem(last=False)
        if self._queue and (self._worker is None or self._worker.done()):
            self._worker = asyncio.create_task(self._plan_all())

    async def aclose(self) -> None:
        """Stop planning."""
        self._queue.clear()
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker

    async def _plan_all(self) -> None:
        while self._queue:
            await self._wait_until_quiet()
            start, _ = self._queue.popitem(last=False)
            [planned] = await asyncio.gather(self._plan(start), return_exceptions=True)
            if isinstance(planned, Exception):  # the task's own reset reports it
                _log.warning("%s was not planned ahead", start, exc_info=planned)

    async def _wait_until_quiet(self) -> None:
        latest = time.monotonic() + MAX_WAIT_S
        while True:
            wait_s = min(self._request_at + QUIET_S, latest) - time.monotonic()
            if wait_s <= 0:
                return
            await asyncio.sleep(wait_s)

    async def _plan(self, start: Start) -> None:
        await self._task_cache.task(await task_key(start, self._task_set))
