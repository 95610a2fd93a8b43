"""Who waits for an episode to go on: each looker has a bell, and whatever happens to the episode rings it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from companyos_gateway.episode.errors import AtCapacity

MOST_LOOKERS = 64
"""Streams that are open at a time; each holds a descriptor of a journal."""


class TooManyLookers(AtCapacity):
    status, code, title = 503, "too-many-lookers", "Too many look at live episodes"


class News:
    """The bells of those who look. To ring where nobody listens costs a look into a table."""

    def __init__(self) -> None:
        self._bells: dict[str, set[asyncio.Event]] = {}
        self._lookers = 0

    def __len__(self) -> int:
        return self._lookers

    def check_has_room(self) -> None:
        """Raise TooManyLookers (503) where no further looker is taken."""
        if self._lookers >= MOST_LOOKERS:
            raise TooManyLookers(f"{MOST_LOOKERS} streams are open.")

    @contextmanager
    def about(self, internal_id: str) -> Iterator[asyncio.Event]:
        """Give a bell that rings whenever something has happened to an episode. Raises TooManyLookers (503)."""
        self.check_has_room()
        bell = asyncio.Event()
        self._lookers += 1
        self._bells.setdefault(internal_id, set()).add(bell)
        try:
            yield bell
        finally:
            self._lookers -= 1
            self._bells[internal_id].discard(bell)
            if not self._bells[internal_id]:
                del self._bells[internal_id]

    def ring(self, internal_id: str) -> None:
        """Let whoever looks at an episode know that something has happened to it."""
        for bell in self._bells.get(internal_id, ()):
            bell.set()
