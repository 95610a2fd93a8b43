"""What is seen of live episodes for those who look at them: it rings their bells, and keeps what ended."""

from __future__ import annotations

import time

from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.watch import StepWatch, Watch
from companyos_gateway.rubrics import Verdict
from companyos_gateway.server.viewing.finished import FinishedEpisodes
from companyos_gateway.server.viewing.news import News
from companyos_gateway.server.viewing.seen import Seen
from companyos_gateway.server.viewing.subject import Subject
from companyos_shared.telemetry.traces import Traces


class LookedAtWatch(Watch):
    """A watch that also serves those who look; `finished` is there once the house has a folder for it."""

    def __init__(self, traces: Traces) -> None:
        super().__init__(traces)
        self.news = News()
        self.finished: FinishedEpisodes | None = None
        self._seen: dict[str, Seen] = {}

    def step(self, episode: Episode, number: int, tool: str) -> StepWatch:
        """Return what to take a step inside of."""
        return _ToldStep(self, episode, number, tool)

    def subject(self, episode: Episode) -> Subject:
        """Return an episode as the viewer shows it."""
        return Subject.of(episode, self._seen.get(episode.internal_id) or Seen())

    def took(self, episode: Episode, number: int, milliseconds: float, before: Verdict) -> None:
        """Take note of a step that is committed."""
        self._seen_of(episode).step(number, milliseconds, before, episode.progress.verdict)
        if episode.done:
            self.ended(episode)
        self.news.ring(episode.internal_id)

    def ended(self, episode: Episode) -> None:
        """Keep what there is of an episode that is over."""
        if self.finished is not None:
            self.finished.take_in(episode, self._seen_of(episode))

    def left(self, episode: Episode) -> None:
        """Forget an episode that is not live any more."""
        self._seen.pop(episode.internal_id, None)
        self.news.ring(episode.internal_id)

    def _seen_of(self, episode: Episode) -> Seen:
        return self._seen.setdefault(episode.internal_id, Seen())


class _ToldStep(StepWatch):
    """One step whose end somebody is told of."""

    __slots__ = ("_before", "_episode", "_looked_at", "_number", "_since")

    def __init__(self, watch: LookedAtWatch, episode: Episode, number: int, tool: str) -> None:
        super().__init__(watch, episode, number, tool)
        self._looked_at = watch
        self._episode = episode
        self._number = number

    def __enter__(self) -> StepWatch:
        self._before = self._episode.progress.verdict
        self._since = time.perf_counter()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if error[0] is None:
            milliseconds = 1000 * (time.perf_counter() - self._since)
            self._looked_at.took(self._episode, self._number, milliseconds, self._before)
