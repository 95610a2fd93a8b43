"""Telling services to drop what is over: a few at a time, and again where one did not answer.

A crowd that leaves at once is no crowd at the services' doors. An internal id is never used twice, so a drop that comes
late hurts nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from companyos_shared.wire.context import CallContext

AT_ONCE = 16
PAUSE_S = 5.0

Tell = Callable[[str, CallContext], Awaitable[bool]]
"""Tells a service to drop an episode, and says whether it answered."""


class Clearing:
    """What the services were told to drop, and have not dropped yet."""

    def __init__(self, services: Iterable[str], tell: Tell) -> None:
        self._tell = tell
        self._places = {service: asyncio.Semaphore(AT_ONCE) for service in services}
        self._owed: list[tuple[str, CallContext]] = []
        self._silent: set[str] = set()
        self._reminding: asyncio.Task[None] | None = None

    @property
    def owed(self) -> int:
        """How many drops were not answered so far."""
        return len(self._owed)

    async def drop(self, service: str, context: CallContext) -> None:
        """Tell a service to drop an episode; one that does not answer is told again later, and not asked until then."""
        async with self._places[service]:
            if service not in self._silent and await self._tell(service, context):
                return
        self._silent.add(service)
        self._owed.append((service, context))
        if self._reminding is None:
            self._reminding = asyncio.get_running_loop().create_task(self._remind())

    async def aclose(self) -> None:
        """Remind nobody any more: what is owed is swept at the next start."""
        if self._reminding is not None:
            self._reminding.cancel()
            with suppress(asyncio.CancelledError):
                await self._reminding

    async def _remind(self) -> None:
        while self._owed:
            await asyncio.sleep(PAUSE_S)
            owed, self._owed = self._owed, []
            self._silent.clear()
            for service, context in owed:
                await self._remind_of(service, context)
        self._reminding = None

    async def _remind_of(self, service: str, context: CallContext) -> None:
        if service in self._silent or not await self._tell(service, context):
            self._silent.add(service)
            self._owed.append((service, context))
