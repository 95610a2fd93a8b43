"""The most recent episodes that finished since the gateway started, with their journals and screenshots.

Journals are kept as hard links, so nothing is copied and they outlive the databases of the episode.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import UnknownEpisodeError
from companyos_gateway.viewer.episode_source import EpisodeSource, StepTimes, episode_key
from companyos_gateway.viewer.screenshot_files import ScreenshotFiles

MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of all journals together. The oldest are deleted first."""


@dataclass(frozen=True, slots=True)
class FinishedEpisode:
    """A finished episode with its end on the monotonic clock and the size of its journal."""

    source: EpisodeSource
    ended_at: float
    size_bytes: int


class FinishedEpisodes:
    """The finished episodes, lost when the process ends."""

    def __init__(self, folder: Path, *, max_count: int) -> None:
        self._folder = folder
        self._max_count = max_count
        self._entries: OrderedDict[str, FinishedEpisode] = OrderedDict()
        self._bytes = 0
        folder.mkdir(0o700, parents=True, exist_ok=True)
        self.screenshots = ScreenshotFiles(folder / "screenshots")
        for stale in folder.glob("*.jsonl"):
            stale.unlink()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[FinishedEpisode]:
        """Yield the episodes, the last finished first."""
        return iter(list(reversed(self._entries.values())))

    def get(self, key: str) -> EpisodeSource:
        """Return the episode with a key; raises UnknownEpisodeError (404)."""
        entry = self._entries.get(key)
        if entry is None:
            raise UnknownEpisodeError("The finished episode is no longer stored.")
        return entry.source

    def find_latest(self, episode_id: str) -> EpisodeSource | None:
        """Return the last finished episode with an id, None if there is none."""
        return next((finished.source for finished in self if finished.source.id == episode_id), None)

    def link_journal(self, episode: Episode) -> None:
        """Link the journal of an episode before the original is deleted."""
        if self._max_count:
            with suppress(OSError):
                os.link(episode.journal.path, self._journal(episode_key(episode)))

    def unlink_journal(self, episode: Episode) -> None:
        """Remove the link to the journal of an episode that continues."""
        if episode_key(episode) not in self._entries:
            self._journal(episode_key(episode)).unlink(missing_ok=True)

    def add(self, episode: Episode, times: StepTimes) -> None:
        """Store a finished episode."""
        if not self._max_count:
            return
        self.link_journal(episode)
        source = EpisodeSource.from_episode(episode, times)
        journal = self._journal(source.key)
        self._drop(source.key)
        size_bytes = journal.stat().st_size if journal.exists() else 0
        self._entries[source.key] = FinishedEpisode(replace(source, journal=journal), time.monotonic(), size_bytes)
        self._bytes += size_bytes
        while len(self._entries) > self._max_count or (self._bytes > MAX_BYTES and len(self._entries) > 1):
            key = next(iter(self._entries))
            self._drop(key)
            self._journal(key).unlink(missing_ok=True)
            self.screenshots.delete(key)

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        self._bytes -= entry.size_bytes if entry is not None else 0

    def _journal(self, key: str) -> Path:
        return self._folder / f"{key}.jsonl"
