"""Notifications for the viewers of live episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from companyos_gateway.engine.errors import AtCapacityError

MAX_VIEWERS = 64
"""Maximum number of open streams. Each uses a file descriptor for a journal."""


class TooManyViewersError(AtCapacityError):
    status, code, title = 503, "too-many-viewers", "Too many concurrent viewers"


class EpisodeNotifier:
    """Sets the events of all subscribers when an episode changes. Without subscribers this is a dictionary lookup."""

    def __init__(self) -> None:
        self._subscribers: dict[str, set[asyncio.Event]] = {}
        self._viewers = 0

    def __len__(self) -> int:
        return self._viewers

    def check_capacity(self) -> None:
        """Raise TooManyViewersError (503) if the maximum number of viewers is reached."""
        if self._viewers >= MAX_VIEWERS:
            raise TooManyViewersError(f"At most {MAX_VIEWERS} streams may be open.")

    @contextmanager
    def subscribe(self, internal_id: str) -> Iterator[asyncio.Event]:
        """Provide an event that is set whenever the episode changes; raises TooManyViewersError (503)."""
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
        """Notify the viewers of an episode about a change."""
        for wakeup in self._subscribers.get(internal_id, ()):
            wakeup.set()
