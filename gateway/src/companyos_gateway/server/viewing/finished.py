"""The episodes that ended since the gateway started, as far as they are kept: the newest ones, with their journals.

A journal is kept as a second name of its file, so nothing is copied, and it outlives the episode's databases.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import UnknownEpisodeError
from companyos_gateway.server.viewing.seen import Seen
from companyos_gateway.server.viewing.subject import Subject

MOST_BYTES = 64 * 1024 * 1024
"""Of all journals together; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An episode that is over: how it ended, when that was on the monotonic clock, and how large its journal is."""

    subject: Subject
    ended_at: float
    size_bytes: int


class FinishedEpisodes:
    """What is kept of episodes that are over, the oldest first. It ends with the process."""

    def __init__(self, folder: Path, *, most: int) -> None:
        self._folder = folder
        self._most = most
        self._kept: OrderedDict[str, Finished] = OrderedDict()
        self._bytes = 0
        folder.mkdir(0o700, parents=True, exist_ok=True)
        for left in folder.glob("*.jsonl"):
            left.unlink()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Finished]:
        """Yield them, the one that ended last first."""
        return iter(list(reversed(self._kept.values())))

    def get(self, key: str) -> Subject:
        """Return what is kept under a key; raises UnknownEpisodeError (404)."""
        found = self._kept.get(key)
        if found is None:
            raise UnknownEpisodeError("What was kept of it is gone.")
        return found.subject

    def last_of(self, episode_id: str) -> Subject | None:
        """Return the episode of that id that ended last; None where none is kept."""
        return next((one.subject for one in self if one.subject.id == episode_id), None)

    def hold(self, episode: Episode) -> None:
        """Give the journal of an episode a second name, before its own one is gone."""
        if self._most:
            with suppress(OSError):
                os.link(episode.journal.path, self._journal(_key(episode)))

    def let_go(self, episode: Episode) -> None:
        """Forget a journal that was held for an episode that goes on."""
        if _key(episode) not in self._kept:
            self._journal(_key(episode)).unlink(missing_ok=True)

    def take_in(self, episode: Episode, seen: Seen) -> None:
        """Keep an episode that has ended."""
        if not self._most:
            return
        self.hold(episode)
        subject = Subject.of(episode, seen)
        journal = self._journal(subject.key)
        self._drop(subject.key)
        size_bytes = journal.stat().st_size if journal.exists() else 0
        self._kept[subject.key] = Finished(replace(subject, journal=journal), time.monotonic(), size_bytes)
        self._bytes += size_bytes
        while len(self._kept) > self._most or (self._bytes > MOST_BYTES and len(self._kept) > 1):
            key = next(iter(self._kept))
            self._drop(key)
            self._journal(key).unlink(missing_ok=True)

    def _drop(self, key: str) -> None:
        found = self._kept.pop(key, None)
        self._bytes -= found.size_bytes if found is not None else 0

    def _journal(self, key: str) -> Path:
        return self._folder / f"{key}.jsonl"


def _key(episode: Episode) -> str:
    return f"{episode.internal_id}.{episode.epoch}"
