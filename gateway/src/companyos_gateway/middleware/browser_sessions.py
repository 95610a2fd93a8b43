"""Browser sessions: their cookies contain a random id, never a token."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

SESSION_LIFETIME_S = 12 * 3600
MAX_SESSIONS = 1024
"""Maximum number of sessions. One more ends the oldest."""

_ID_BYTES = 32


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A signed-in browser."""

    episode: str | None
    """Internal id of the episode whose pages the session may open; None for the trainer, who may open all pages."""

    expires_at: float
    """Seconds on the monotonic clock."""


class BrowserSessions:
    """Sessions by the hash of their id, in memory or in `kept`. Ids have 256 random bits and are not stored."""

    def __init__(
        self, kept: MutableMapping[str, BrowserSession] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sessions: MutableMapping[str, BrowserSession] = {} if kept is None else kept
        self._clock = clock

    def begin(self, episode: str | None) -> str:
        """Begin a session and return its id."""
        now = self._clock()
        for key in list(self._sessions):
            session = self._sessions.get(key)  # None if another worker has ended it
            if session is None or session.expires_at <= now:
                self._delete(key)
        keys = list(self._sessions)
        for key in keys[: max(0, len(keys) + 1 - MAX_SESSIONS)]:
            self._delete(key)
        session_id = secrets.token_urlsafe(_ID_BYTES)
        self._sessions[_digest(session_id)] = BrowserSession(episode, now + SESSION_LIFETIME_S)
        return session_id

    def find(self, session_id: str) -> BrowserSession | None:
        """Return the session of an id, None if it does not exist or has expired."""
        found = self._sessions.get(_digest(session_id))
        return found if found is not None and found.expires_at > self._clock() else None

    def end(self, session_id: str) -> None:
        """End a session, if there is one."""
        self._delete(_digest(session_id))

    def _delete(self, key: str) -> None:
        with suppress(KeyError):
            del self._sessions[key]


class SessionFolder(MutableMapping[str, BrowserSession]):
    """Sessions as files that the workers of one address share, oldest first. Any of them can end a session at any time.

    Times are on the monotonic clock, which the processes of a machine share until it restarts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, key: str) -> BrowserSession:
        try:
            episode, expires_at = json.loads((self._folder / key).read_bytes())
        except (FileNotFoundError, ValueError):
            raise KeyError(key) from None
        return BrowserSession(episode, expires_at)

    def __setitem__(self, key: str, session: BrowserSession) -> None:
        temporary = self._folder / f".{key}"
        temporary.write_text(json.dumps([session.episode, session.expires_at]), encoding="ascii")
        temporary.rename(self._folder / key)

    def __delitem__(self, key: str) -> None:
        try:
            (self._folder / key).unlink()
        except FileNotFoundError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        files = [file for file in os.scandir(self._folder) if not file.name.startswith(".")]
        return iter([file.name for file in sorted(files, key=lambda file: (_written_at(file), file.name))])

    def __len__(self) -> int:
        return sum(not name.startswith(".") for name in os.listdir(self._folder))


def _written_at(file: os.DirEntry[str]) -> int:
    """Return when a file was written, in nanoseconds; 0 if it has been removed since it was listed."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _digest(session_id: str) -> str:
    return sha256(session_id.encode()).hexdigest()
