"""Metrics that also notify viewers of new steps and archive finished episodes."""

from __future__ import annotations

from collections import defaultdict

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.metrics import EngineMetrics
from companyos_gateway.viewer.episode_source import EpisodeSource, StepTimes, episode_key
from companyos_gateway.viewer.finished_episodes import FinishedEpisodes
from companyos_gateway.viewer.notifier import EpisodeNotifier
from companyos_shared.telemetry.tracing import Traces


class ViewerRecorder(EngineMetrics):
    """Engine metrics for the viewer. `finished` is None until the gateway has a folder for journals."""

    def __init__(self, traces: Traces) -> None:
        super().__init__(traces)
        self.notifier = EpisodeNotifier()
        self.finished: FinishedEpisodes | None = None
        self._times: defaultdict[str, StepTimes] = defaultdict(StepTimes)

    def source(self, episode: Episode) -> EpisodeSource:
        """Return the current state of an episode for the viewer."""
        return EpisodeSource.from_episode(episode, self._times.get(episode.internal_id) or StepTimes())

    def record_step(self, episode: Episode, number: int, milliseconds: float) -> None:
        """Record a committed step and notify the viewers."""
        self._times[episode.internal_id].record(number, milliseconds)
        if episode.done:
            self.archive(episode)
        self.notifier.notify(episode.internal_id)

    def record_screenshot(self, episode: Episode, png: bytes) -> None:
        """Store a new screenshot of an episode's window and notify the viewers."""
        key = episode_key(episode)
        if self.finished is not None and (key in self.finished or not episode.closed):
            self.finished.screenshots.add(key, episode.step, png)
            self.notifier.notify(episode.internal_id)

    def archive(self, episode: Episode) -> None:
        """Store a finished episode."""
        if self.finished is not None:
            self.finished.add(episode, self._times[episode.internal_id])

    def forget(self, episode: Episode) -> None:
        """Remove the step times and screenshots of a closed episode that is not archived, and notify its viewers."""
        self._times.pop(episode.internal_id, None)
        self.forget_screenshots(episode_key(episode))
        self.notifier.notify(episode.internal_id)

    def forget_screenshots(self, key: str) -> None:
        """Delete the screenshots of an episode, unless it is archived."""
        if self.finished is not None and key not in self.finished:
            self.finished.screenshots.delete(key)
