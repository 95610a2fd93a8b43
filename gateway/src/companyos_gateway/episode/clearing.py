"""Telling services to drop what is over: a few at a time, and again where one did not answer.

Drops are rate-limited so that mass disconnects do not overload the services. An internal id is never used twice, so a
drop that comes late hurts nobody.
"""

from __future__ import annotations

import asyncio
from collections import Counter
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
        self._owing: Counter[str] = Counter()
        """By episode, how many drops are owed."""
        self._silent: set[str] = set()
        self._reminding: asyncio.Task[None] | None = None
        self.after_last: Callable[[str], None] | None = None
        """What is done with an episode's id once the last drop that was owed is answered."""

    @property
    def owed(self) -> int:
        """How many drops were not answered so far."""
        return len(self._owed)

    async def drop(self, service: str, context: CallContext) -> bool:
        """Let a service drop an episode and return whether it answered; if not, it is sent again later."""
        async with self._places[service]:
            if service not in self._silent and await self._tell(service, context):
                return True
        self._silent.add(service)
        self._owe(service, context)
        if self._reminding is None:
            self._reminding = asyncio.get_running_loop().create_task(self._remind())
        return False

    async def aclose(self) -> None:
        """Send nothing any more: what is owed is dropped after the next start."""
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
        self._owing[context.episode] -= 1
        if service in self._silent or not await self._tell(service, context):
            self._silent.add(service)
            self._owe(service, context)
        elif not self._owing[context.episode]:
            del self._owing[context.episode]
            if self.after_last is not None:
                self.after_last(context.episode)

    def _owe(self, service: str, context: CallContext) -> None:
        self._owed.append((service, context))
        self._owing[context.episode] += 1
