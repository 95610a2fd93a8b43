"""Sessions of browsers: a cookie holds a random id and never a token."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

SESSION_LIFETIME_S = 12 * 3600
MAX_SESSIONS = 1024
"""Beyond it the oldest session ends."""

_ID_BYTES = 32


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A signed-in browser."""

    episode: str | None
    """The internal id of the episode whose pages it opens; None for the trainer, who sees everything."""

    expires_at: float
    """On the monotonic clock."""


class BrowserSessions:
    """The sessions of this process. Ids have 256 random bits; their hashes alone are kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[bytes, BrowserSession] = {}

    def begin(self, episode: str | None) -> str:
        """Begin a session and return its id."""
        now = self._clock()
        self._sessions = {key: kept for key, kept in self._sessions.items() if kept.expires_at > now}
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        session_id = secrets.token_urlsafe(_ID_BYTES)
        self._sessions[_digest(session_id)] = BrowserSession(episode, now + SESSION_LIFETIME_S)
        return session_id

    def find(self, session_id: str) -> BrowserSession | None:
        """Return the session of an id, None where there is none or it has expired."""
        found = self._sessions.get(_digest(session_id))
        return found if found is not None and found.expires_at > self._clock() else None

    def end(self, session_id: str) -> None:
        """End a session, if there is one."""
        self._sessions.pop(_digest(session_id), None)


def _digest(session_id: str) -> bytes:
    return sha256(session_id.encode()).digest()
