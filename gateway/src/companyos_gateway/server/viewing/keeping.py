"""The live episodes of a house that people look into: whoever leaves is kept as far as it goes, and told of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from companyos_gateway.episode.asked import Asked
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.journal import Journal
from companyos_gateway.episode.manifest import Manifest
from companyos_gateway.episode.progress import Progress
from companyos_gateway.episode.store import EpisodeStore
from companyos_gateway.episode.task import Task
from companyos_gateway.server.viewing.watching import LookedAtWatch


class KeepingStore(EpisodeStore):
    """A store whose episodes do not leave without a trace, but for its own end."""

    def __init__(self, *given: Any, watch: LookedAtWatch, **options: Any) -> None:
        super().__init__(*given, **options)
        self._watch = watch
        self._is_ending = False

    def open(self, asked: Asked, task: Task, previous: Episode | None = None) -> Episode:
        """Start an episode, as the store does."""
        with self._leaving(previous):
            return super().open(asked, task, previous)

    def fork(
        self,
        origin: Manifest,
        task: Task,
        progress: Progress,
        payloads: list[bytes],
        label: str | None,
        previous: Episode | None = None,
    ) -> Episode:
        """Start an episode from a snapshot, as the store does."""
        with self._leaving(previous):
            return super().fork(origin, task, progress, payloads, label, previous)

    def restore(self, episode: Episode, origin: Manifest, progress: Progress, payloads: list[bytes]) -> None:
        """Let an episode stand where a snapshot says, as the store does, and tell who looks."""
        super().restore(episode, origin, progress, payloads)
        self._watch.news.ring(episode.internal_id)

    def adopt(self, manifest: Manifest, task: Task, progress: Progress, journal: Journal) -> Episode:
        """Take in an episode that was found; one that is over already is kept as such."""
        episode = super().adopt(manifest, task, progress, journal)
        if episode.done:
            self._watch.ended(episode)
        return episode

    def free(self, episode: Episode) -> None:
        """End an episode and free what is held of it, as the store does."""
        with self._leaving(episode):
            super().free(episode)

    async def aclose(self, *, lasting: bool = False) -> None:
        """Let go of every episode; what looks at them ends as well, so nothing is kept."""
        self._is_ending = True
        await super().aclose(lasting=lasting)

    @contextmanager
    def _leaving(self, episode: Episode | None) -> Iterator[None]:
        """Hold the journal of an episode that may leave inside of it; keep it where it did before its end."""
        finished = self._watch.finished
        if episode is None or episode.closed or finished is None or self._is_ending:
            yield
            return
        was_over = episode.done
        if not was_over:
            finished.hold(episode)
        try:
            yield
        finally:
            if _has_left(episode):
                if not was_over:
                    self._watch.ended(episode)
                self._watch.left(episode)
            elif not was_over:
                finished.let_go(episode)


def _has_left(episode: Episode) -> bool:
    return episode.closed
