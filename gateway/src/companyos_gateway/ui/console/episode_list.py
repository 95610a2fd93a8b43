"""The list of running and finished episodes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.viewer.episode_source import episode_key
from companyos_gateway.viewer.finished_episodes import FinishedEpisode
from companyos_gateway.viewer.recorder import ViewerRecorder

RUNNING = "running"
OVER = "over"

_MINUTE_S, _HOUR_S = 60, 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeListItem:
    """A row of the list."""

    ref: str
    """`episodes/ID` of a live episode or `finished/KEY` of a finished one."""
    id: str
    scenario: str
    seed: int
    chaos: int
    step: int
    max_steps: int
    now: datetime
    return_: float
    outcome: str | None
    ended: str | None
    episode: Episode | None
    """The live episode, which has a desk and can be ended; None for archived ones."""

    @property
    def state(self) -> str:
        """`running` or `over`."""
        return RUNNING if self.outcome is None else OVER


def list_episodes(engine: EpisodeEngine, metrics: ViewerRecorder) -> Iterator[EpisodeListItem]:
    """Yield the running episodes, most recently used first, then the finished ones, latest first."""
    live = sorted(engine.store, key=lambda episode: -episode.used_at)
    yield from (_from_live(episode) for episode in live if not episode.done)
    finished_live = {episode_key(episode): episode for episode in live if episode.done}
    now = time.monotonic()
    for finished in metrics.finished or ():
        yield _from_finished(finished, now, finished_live.pop(finished.source.key, None))
    yield from map(_from_live, finished_live.values())


def format_age(seconds: float) -> str:
    """Return an age as text, such as `5 min ago`."""
    if seconds < _MINUTE_S:
        return "just now"
    if seconds < _HOUR_S:
        return f"{int(seconds // _MINUTE_S)} min ago"
    return f"{int(seconds // _HOUR_S)} h ago"


def _from_live(episode: Episode) -> EpisodeListItem:
    key, progress = episode.task.key, episode.progress
    return EpisodeListItem(
        ref=f"episodes/{quote(episode.id, safe='')}",
        id=episode.id,
        scenario=key.scenario,
        seed=key.seed,
        chaos=key.chaos,
        step=progress.step,
        max_steps=episode.task.instance.max_steps,
        now=progress.now,
        return_=progress.ledger.return_,
        outcome=None if progress.outcome is None else progress.outcome.value,
        ended=None,
        episode=episode,
    )


def _from_finished(finished: FinishedEpisode, now: float, episode: Episode | None) -> EpisodeListItem:
    source = finished.source
    return EpisodeListItem(
        ref=f"finished/{quote(source.key, safe='')}",
        id=source.id,
        scenario=source.task_key.scenario,
        seed=source.task_key.seed,
        chaos=source.task_key.chaos,
        step=source.step,
        max_steps=source.max_steps,
        now=source.now,
        return_=source.return_,
        outcome=None if source.outcome is None else source.outcome.value,
        ended=format_age(now - finished.ended_at),
        episode=episode,
    )
