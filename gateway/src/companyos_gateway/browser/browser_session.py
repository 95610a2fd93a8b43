"""The browser session of an episode: address, remaining free actions and the queue of actions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from companyos_gateway.browser.app_urls import DESK
from companyos_gateway.engine.browser_tools import FREE_ACTIONS_PER_STEP
from companyos_gateway.engine.episode import MAX_QUEUED_CALLS, Episode
from companyos_gateway.engine.errors import EpisodeQueueFullError, StepConflictError
from companyos_gateway.engine.progress import LastStep

if TYPE_CHECKING:
    from companyos_gateway.browser.window import Window

_FORM_MARKER = "/-/"
"""Part of every form address. Such an address cannot be opened again."""


@dataclass(slots=True)
class WindowSession:
    """The session of one epoch. It outlives its window, which may be closed and opened again."""

    epoch: int
    free_actions_left: int
    address: str = DESK
    window: Window | None = None
    failures: int = 0
    """Consecutive failures of the browser."""
    submitted: LastStep | None = None
    """The last action that sent a form, stored for repeated requests."""
    used_at: float = field(default_factory=time.monotonic)
    waiting: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def from_episode(cls, episode: Episode) -> WindowSession:
        """Return a new session, at the desk and with all free actions left."""
        return cls(episode.epoch, FREE_ACTIONS_PER_STEP * episode.task.instance.max_steps)

    @property
    def is_busy(self) -> bool:
        """Return whether an action is in progress."""
        return self.lock.locked()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Run one action at a time; raises EpisodeQueueFullError (429)."""
        if self.waiting >= MAX_QUEUED_CALLS:
            raise EpisodeQueueFullError(f"At most {MAX_QUEUED_CALLS} actions may wait for a window.")
        self.waiting += 1
        try:
            await self.lock.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self.used_at = time.monotonic()
            self.lock.release()

    def find_repeat(
        self, episode: Episode, tool: str, arguments: Mapping[str, Any], number: int | None
    ) -> LastStep | None:
        """Return the submitted action if the request repeats its step number, else None.

        Free actions have no step number. Raises StepConflictError (409) for any other step or action, so that no form
        is sent twice.
        """
        if number is None or number == episode.step + 1:
            return None
        if number != episode.step or self.submitted is None or self.submitted.observation.step != number:
            raise StepConflictError(f"step must be {episode.step + 1}; got {number}")
        if not self.submitted.is_same(tool, arguments):
            raise StepConflictError(f"Step {number} had a different action.")
        return self.submitted

    def remember(self, address: str) -> None:
        """Store the address of the window if it can be opened again."""
        if _FORM_MARKER not in address:
            self.address = address

    async def close_window(self) -> None:
        """Close the window. The next action opens a new one at the same address."""
        window, self.window = self.window, None
        if window is not None:
            await window.close()
