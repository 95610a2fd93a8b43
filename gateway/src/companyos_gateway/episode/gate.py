"""A gate through which many pass at once, or one alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Who passes alone waits until nobody else is inside, and keeps everybody out until it is done."""

    def __init__(self) -> None:
        self._inside = 0
        self._is_open, self._is_empty = asyncio.Event(), asyncio.Event()
        self._is_open.set()
        self._is_empty.set()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Pass beside others."""
        while not self._is_open.is_set():
            await self._is_open.wait()
        self._inside += 1
        self._is_empty.clear()
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._is_empty.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Pass with nobody else inside."""
        while not self._is_open.is_set():
            await self._is_open.wait()
        self._is_open.clear()
        try:
            await self._is_empty.wait()
            yield
        finally:
            self._is_open.set()
