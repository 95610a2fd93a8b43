"""Who may begin a step with a service: as many at once as it answers well within a call's deadline.

The others wait in order, before their step is written down and its clock starts. So a crowd is slow, and nobody's
episode is lost for it; a service that stands still holds up those who want something of it, and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from companyos_gateway.episode.errors import ServicesDown

AT_ONCE = 16
PATIENCE_S = 10.0


class Places:
    """The places of one service."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._free = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a place; raises ServicesDown (503) where none becomes free within PATIENCE_S."""
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._free.acquire()
        except TimeoutError:
            raise ServicesDown(f"{self._service} is busy with others; the step was not taken.") from None
