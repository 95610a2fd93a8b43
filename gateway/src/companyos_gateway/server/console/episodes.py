"""The list of episodes: those that are played, and those that are over and still kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from companyos_gateway.episode.environment import Stage
from companyos_gateway.episode.episode import Episode
from companyos_gateway.server.viewing.finished import Finished
from companyos_gateway.server.viewing.watching import LookedAtWatch

RUNNING = "running"
OVER = "over"

_MINUTE_S, _HOUR_S = 60, 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One line of the list."""

    ref: str
    """What it is compared by: `episodes/ID` while it is live, `finished/KEY` when it is over."""
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
    """The live episode: it has a desk, and can be ended."""

    @property
    def state(self) -> str:
        """Whether it goes on."""
        return RUNNING if self.outcome is None else OVER


def listed(stage: Stage, watch: LookedAtWatch) -> Iterator[Listed]:
    """Yield the running episodes, the one used last first, and then those that are over, the last one first."""
    live = sorted(stage.store, key=lambda episode: -episode.used_at)
    yield from (_of_live(episode) for episode in live if not episode.done)
    left = {f"{episode.internal_id}.{episode.epoch}": episode for episode in live if episode.done}
    now = time.monotonic()
    for one in watch.finished or ():
        yield _of_finished(one, now, left.pop(one.subject.key, None))
    yield from map(_of_live, left.values())


def ago(seconds: float) -> str:
    """Return how long something is past, in words."""
    if seconds < _MINUTE_S:
        return "just now"
    if seconds < _HOUR_S:
        return f"{int(seconds // _MINUTE_S)} min ago"
    return f"{int(seconds // _HOUR_S)} h ago"


def _of_live(episode: Episode) -> Listed:
    key, progress = episode.task.key, episode.progress
    return Listed(
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


def _of_finished(one: Finished, now: float, episode: Episode | None) -> Listed:
    subject = one.subject
    return Listed(
        ref=f"finished/{quote(subject.key, safe='')}",
        id=subject.id,
        scenario=subject.scenario,
        seed=subject.seed,
        chaos=subject.chaos,
        step=subject.step,
        max_steps=subject.max_steps,
        now=subject.now,
        return_=subject.return_,
        outcome=None if subject.outcome is None else subject.outcome.value,
        ended=ago(now - one.ended_at),
        episode=episode,
    )
