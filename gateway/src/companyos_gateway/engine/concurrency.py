"""Concurrency control: tasks in progress, a limit of concurrent steps per service, and a read-write lock.

Steps above a service's limit wait in order, before they are journaled and before their deadline starts, so a burst is
slow but loses no step.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from companyos_gateway.engine.errors import ServicesUnavailableError

T = TypeVar("T")

MAX_CONCURRENT_STEPS = 16
QUEUE_TIMEOUT_S = 10.0


def start_task(tasks: set[asyncio.Task[T]], work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task that is in `tasks` until it is done."""
    task = asyncio.get_running_loop().create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


class ConcurrencyLimiter:
    """Limits the concurrent steps of one service to MAX_CONCURRENT_STEPS; `async with` holds a slot.

    Raises ServicesUnavailableError (503) if none becomes free within QUEUE_TIMEOUT_S.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT_STEPS)

    async def __aenter__(self) -> None:
        if self._semaphore.locked():
            await self._wait_for_slot()
        else:
            await self._semaphore.acquire()

    async def __aexit__(self, *_error: object) -> None:
        self._semaphore.release()

    async def _wait_for_slot(self) -> None:
        try:
            async with asyncio.timeout(QUEUE_TIMEOUT_S):
                await self._semaphore.acquire()
        except TimeoutError:
            raise ServicesUnavailableError(f"The service {self._service} is busy; the step was not executed.") from None


class ReadWriteLock:
    """Lock that several readers or one writer can hold; a waiting writer blocks new readers."""

    def __init__(self) -> None:
        self._readers = 0
        self._no_writer, self._no_readers = asyncio.Event(), asyncio.Event()
        self._no_writer.set()
        self._no_readers.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Hold the lock as a reader."""
        while not self._no_writer.is_set():
            await self._no_writer.wait()
        self._readers += 1
        self._no_readers.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._no_readers.set()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock as the only writer."""
        while not self._no_writer.is_set():
            await self._no_writer.wait()
        self._no_writer.clear()
        try:
            await self._no_readers.wait()
            yield
        finally:
            self._no_writer.set()
