"""Notifies viewers of a live episode when it changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from companyos_gateway.engine.errors import AtCapacityError

MAX_VIEWERS = 64
"""Streams that are open at a time; each holds a descriptor of a journal."""


class TooManyViewersError(AtCapacityError):
    status, code, title = 503, "too-many-viewers", "Too many concurrent viewers"


class EpisodeNotifier:
    """The bells of those who look. To ring where nobody listens costs a look into a table."""

    def __init__(self) -> None:
        self._subscribers: dict[str, set[asyncio.Event]] = {}
        self._viewers = 0

    def __len__(self) -> int:
        return self._viewers

    def check_capacity(self) -> None:
        """Raise TooManyViewersError (503) where no further looker is taken."""
        if self._viewers >= MAX_VIEWERS:
            raise TooManyViewersError(f"{MAX_VIEWERS} streams are open.")

    @contextmanager
    def subscribe(self, internal_id: str) -> Iterator[asyncio.Event]:
        """Give a bell that rings whenever something has happened to an episode. Raises TooManyViewersError (503)."""
        self.check_capacity()
        wakeup = asyncio.Event()
        self._viewers += 1
        self._subscribers.setdefault(internal_id, set()).add(wakeup)
        try:
            yield wakeup
        finally:
            self._viewers -= 1
            self._subscribers[internal_id].discard(wakeup)
            if not self._subscribers[internal_id]:
                del self._subscribers[internal_id]

    def notify(self, internal_id: str) -> None:
        """Let whoever looks at an episode know that something has happened to it."""
        for wakeup in self._subscribers.get(internal_id, ()):
            wakeup.set()
