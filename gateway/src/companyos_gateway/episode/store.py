"""The live episodes by id, and the one way in which an episode is freed."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter

from companyos.contract import Outcome, ResetOptions
from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import AtCapacity, EpisodeExists, UnknownEpisode
from companyos_gateway.episode.outcome import Ledger
from companyos_gateway.episode.task import Task
from companyos_gateway.rubrics import Evidence
from companyos_shared.wire.context import Actor

REAP_INTERVAL_S = 5.0
IDLE_BEFORE_EVICTION_S = 60.0

_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_ID_BYTES = 12


class EpisodeStore:
    """Every live episode of this process. Times are on the monotonic clock."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        most_episodes: int,
        idle_limit_s: float,
        detached_limit_s: float,
        keep_databases: bool = False,
    ) -> None:
        self._cluster = cluster
        self._keep_databases = keep_databases
        self._most_episodes = most_episodes
        self._idle_limit_s = idle_limit_s
        self._detached_limit_s = detached_limit_s
        self._live: dict[str, Episode] = {}
        self._freeing: set[asyncio.Task[None]] = set()
        self.outcomes: Counter[Outcome] = Counter()

    def __len__(self) -> int:
        return len(self._live)

    def get(self, episode_id: str) -> Episode:
        """Return the live episode of that id; raises UnknownEpisode (404)."""
        episode = self._live.get(episode_id)
        if episode is None:
            raise UnknownEpisode(f"No live episode has the id {episode_id!r}." if _ID.fullmatch(episode_id) else None)
        return episode

    def open(self, options: ResetOptions, task: Task, previous: Episode | None = None) -> Episode:
        """Start an episode; it takes the place of `previous` as that one's next epoch.

        Raises EpisodeExists (409) for an id that is live elsewhere and AtCapacity (503).
        """
        label = options.episode_id or secrets.token_hex(_ID_BYTES)
        holder = self._live.get(label)
        if holder is not None and holder is not previous:
            if not holder.done:
                raise EpisodeExists(f"The episode {label!r} is live.")
            self.free(holder)
        if previous is None or previous.closed:
            previous = None
            self._make_room()
        episode = Episode(
            id=label,
            internal_id=previous.internal_id if previous else secrets.token_hex(_ID_BYTES),
            epoch=previous.epoch + 1 if previous else 1,
            options=options,
            task=task,
            evidence=Evidence.start(task.initial),
            ledger=Ledger(options.shaping, options.reward_scale, task.first_verdict.potential),
            verdict=task.first_verdict,
            now=task.instance.started_at,
            next_due_at=dict(task.next_due_at),
        )
        if previous is not None:
            episode.touched |= previous.touched
            self._leave(previous)
        self._live[label] = episode
        return episode

    def detach(self, episode: Episode) -> None:
        """Let the episode outlive its connection for a while."""
        episode.detached_at = time.monotonic()

    def free(self, episode: Episode) -> None:
        """End the episode where it still runs and free what the services hold of it."""
        if episode.closed:
            return
        self._leave(episode)
        freeing = asyncio.get_running_loop().create_task(self._drop(episode))
        self._freeing.add(freeing)
        freeing.add_done_callback(self._freeing.discard)

    def reap(self) -> int:
        """Free every episode that was idle or detached for too long, and say how many."""
        now = time.monotonic()
        expired = [episode for episode in self._live.values() if self._is_expired(episode, now)]
        for episode in expired:
            self.free(episode)
        return len(expired)

    async def reap_forever(self) -> None:
        """Reap now and then, until cancelled."""
        while True:
            await asyncio.sleep(REAP_INTERVAL_S)
            self.reap()

    async def aclose(self) -> None:
        """Free every episode and wait until the services have let go."""
        for episode in list(self._live.values()):
            self.free(episode)
        await asyncio.gather(*self._freeing)

    def _leave(self, episode: Episode) -> None:
        episode.closed = True
        if not episode.done:
            episode.outcome = Outcome.CLOSED
            episode.ledger.enter_close()
            self.outcomes[Outcome.CLOSED] += 1
        self._live.pop(episode.id, None)

    async def _drop(self, episode: Episode) -> None:
        if self._keep_databases:
            return
        async with episode.lock:
            calls = (self._cluster.drop(name, episode.context(name, Actor.TRAINER)) for name in sorted(episode.touched))
            await asyncio.gather(*calls)

    def _make_room(self) -> None:
        """Free the episode that is needed least, where the house is full: one that is over, else the longest idle."""
        if len(self._live) < self._most_episodes:
            return
        least = min((episode for episode in self._live.values() if not episode.busy), key=_need, default=None)
        if least is None or not (least.done or time.monotonic() - least.used_at > IDLE_BEFORE_EVICTION_S):
            raise AtCapacity(f"{self._most_episodes} episodes are live.")
        self.free(least)

    def _is_expired(self, episode: Episode, now: float) -> bool:
        if episode.busy:
            return False
        if episode.detached_at is not None and now - episode.detached_at > self._detached_limit_s:
            return now - episode.used_at > self._detached_limit_s
        return now - episode.used_at > self._idle_limit_s


def _need(episode: Episode) -> tuple[bool, float]:
    return not episode.done, episode.used_at
