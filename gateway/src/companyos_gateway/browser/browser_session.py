"""The browser session of one episode: its URL, remaining free actions and lock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from companyos_gateway.engine.browser_tools import FREE_ACTIONS_PER_STEP
from companyos_gateway.engine.episode import MAX_QUEUED_CALLS, Episode
from companyos_gateway.engine.errors import EpisodeQueueFullError, StepConflictError
from companyos_gateway.engine.observations import StepObservation
from companyos_shared.streams import canonical_json

if TYPE_CHECKING:
    from companyos_gateway.browser.window import Window

DESK: Final = "/"
_FORM_MARKER = "/-/"
"""What the address of a form's answer holds; there is nothing to be read at it."""


@dataclass(frozen=True, slots=True)
class SubmittedAction:
    """The last action that sent a form, kept for whoever asks for it again."""

    tool: str
    arguments: Mapping[str, Any]
    observation: StepObservation

    def matches(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Say whether an action is the one that sent it."""
        return canonical_json([tool, arguments]) == canonical_json([self.tool, self.arguments])


@dataclass(slots=True)
class WindowSession:
    """One epoch of an episode as its agent sees it. The window comes and goes; the rest stays."""

    epoch: int
    looks_left: int
    address: str = DESK
    window: Window | None = None
    failures: int = 0
    """How often in a row the browser failed."""
    submitted: SubmittedAction | None = None
    used_at: float = field(default_factory=time.monotonic)
    waiting: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def from_episode(cls, episode: Episode) -> WindowSession:
        """Return where an episode's agent begins: at the desk, with every look."""
        return cls(episode.epoch, FREE_ACTIONS_PER_STEP * episode.task.instance.max_steps)

    @property
    def is_busy(self) -> bool:
        """Return whether an action is running or waiting."""
        return self.lock.locked()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn, one action at a time; raises EpisodeQueueFullError (429)."""
        if self.waiting >= MAX_QUEUED_CALLS:
            raise EpisodeQueueFullError(f"{MAX_QUEUED_CALLS} actions wait for this window.")
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
    ) -> SubmittedAction | None:
        """Return what was sent where the step of that number is asked for again; raises StepConflictError (409).

        A look has no number. Whoever gives one is promised that no form is sent twice.
        """
        if number is None or number == episode.step + 1:
            return None
        if number != episode.step or self.submitted is None or self.submitted.observation.step != number:
            raise StepConflictError(f"The next step is {episode.step + 1}.")
        if not self.submitted.matches(tool, arguments):
            raise StepConflictError(f"Step {number} was another action.")
        return self.submitted

    def remember(self, address: str) -> None:
        """Note where the window is, unless it could not be opened there again."""
        if _FORM_MARKER not in address:
            self.address = address

    async def close_window(self) -> None:
        """Let the window go; it is opened anew, at the same address, by whoever needs it next."""
        window, self.window = self.window, None
        if window is not None:
            await window.close()
