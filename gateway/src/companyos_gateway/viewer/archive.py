"""An episode store that archives episodes for the viewer when they are closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.journal import Journal
from companyos_gateway.engine.manifest import Manifest
from companyos_gateway.engine.progress import Progress
from companyos_gateway.engine.reset_request import ResetRequest
from companyos_gateway.engine.store import EpisodeStore
from companyos_gateway.engine.task_cache import Task
from companyos_gateway.viewer.episode_source import episode_key
from companyos_gateway.viewer.recorder import ViewerRecorder


class ArchivingStore(EpisodeStore):
    """Episode store that archives every episode it closes, except at shutdown."""

    def __init__(self, *args: Any, metrics: ViewerRecorder, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._metrics = metrics
        self._is_closing = False

    def open(self, reset_request: ResetRequest, task: Task, previous: Episode | None = None) -> Episode:
        """Start an episode and archive the one that it replaces, if a step was taken in it."""
        with self._archiving(previous, is_kept=previous is not None and previous.progress.step > 0):
            return super().open(reset_request, task, previous)

    def fork(
        self,
        origin: Manifest,
        task: Task,
        progress: Progress,
        payloads: list[bytes],
        label: str | None,
        previous: Episode | None = None,
    ) -> Episode:
        """Start an episode from a snapshot and archive the one that it replaces."""
        with self._archiving(previous):
            return super().fork(origin, task, progress, payloads, label, previous)

    def restore(self, episode: Episode, origin: Manifest, progress: Progress, payloads: list[bytes]) -> None:
        """Restore an episode to a snapshot and notify its viewers."""
        replaced = episode_key(episode)
        super().restore(episode, origin, progress, payloads)
        self._metrics.forget_screenshots(replaced)
        self._metrics.notifier.notify(episode.internal_id)

    def register(self, manifest: Manifest, task: Task, progress: Progress, journal: Journal) -> Episode:
        """Register a recovered episode, and archive it if it is finished."""
        episode = super().register(manifest, task, progress, journal)
        if episode.done:
            self._metrics.archive(episode)
        return episode

    def free(self, episode: Episode) -> None:
        """Archive an episode and free its resources."""
        with self._archiving(episode):
            super().free(episode)

    async def aclose(self, *, keep_files: bool = False) -> None:
        """Close all episodes without archiving them, as the viewer shuts down as well."""
        self._is_closing = True
        await super().aclose(keep_files=keep_files)

    @contextmanager
    def _archiving(self, episode: Episode | None, *, is_kept: bool = True) -> Iterator[None]:
        """Keep a link to the journal in case the episode is closed inside the context, and then archive the episode."""
        finished = self._metrics.finished
        if episode is None or episode.closed or finished is None or self._is_closing:
            yield
            return
        is_settled = episode.done or not is_kept
        if not is_settled:
            finished.link_journal(episode)
        try:
            yield
        finally:
            if _is_closed(episode):
                if not is_settled:
                    self._metrics.archive(episode)
                self._metrics.forget(episode)
            elif not is_settled:
                finished.unlink_journal(episode)


def _is_closed(episode: Episode) -> bool:
    return episode.closed
