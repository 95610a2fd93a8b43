"""The live episodes by id, and the one way in which an episode is freed."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from companyos.contract import Outcome
from companyos_gateway.episode.asked import Asked
from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.drops import EpisodeDrops
from companyos_gateway.episode.episode import VERSION, Episode
from companyos_gateway.episode.errors import AtCapacity, EpisodeExists, UnknownEpisodeError
from companyos_gateway.episode.files import EpisodeFiles
from companyos_gateway.episode.journal import Journal
from companyos_gateway.episode.limits import EpisodeLimits
from companyos_gateway.episode.manifest import Manifest, State
from companyos_gateway.episode.progress import Progress
from companyos_gateway.episode.quarantine import Quarantine
from companyos_gateway.episode.task import Task
from companyos_gateway.episode.tokens import EpisodeTokens

REAP_INTERVAL_S = 5.0
IDLE_BEFORE_EVICTION_S = 60.0

_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_ID_BYTES = 12


class EpisodeStore:
    """Every live episode of this process. Times are on the monotonic clock."""

    def __init__(
        self,
        cluster: Cluster,
        files: EpisodeFiles,
        tokens: EpisodeTokens,
        *,
        node: str,
        limits: EpisodeLimits,
        keep_databases: bool = False,
        kept_episode: str | None = None,
        quarantine: Quarantine | None = None,
    ) -> None:
        self._files = files
        self._tokens = tokens
        self._node = node
        self._limits = limits
        self._keep_databases = keep_databases
        self._kept_episode = kept_episode
        self._quarantine = quarantine
        self._live: dict[str, Episode] = {}
        self._by_internal_id: dict[str, Episode] = {}
        self.drops = EpisodeDrops(cluster, files)
        self.outcomes: Counter[Outcome] = Counter()

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self._live.values())

    def has(self, episode_id: str) -> bool:
        """Say whether an episode of that id is live."""
        return episode_id in self._live

    def get(self, episode_id: str) -> Episode:
        """Return the live episode of that id; raises UnknownEpisodeError (404) or EpisodeQuarantinedError (410)."""
        episode = self._live.get(episode_id)
        if episode is None:
            if self._quarantine is not None:
                self._quarantine.check_episode(episode_id, is_kept=episode_id == self._kept_episode)
            raise UnknownEpisodeError(
                f"No live episode has the id {episode_id!r}." if _ID.fullmatch(episode_id) else None
            )
        return episode

    def of_token(self, token: str) -> Episode:
        """Return the live episode of that token; raises UnknownEpisodeError (404)."""
        internal_id = self._tokens.find(token, self._by_internal_id)
        if internal_id is None:
            raise UnknownEpisodeError("The token fits no live episode.")
        return self._by_internal_id[internal_id]

    def open(self, asked: Asked, task: Task, previous: Episode | None = None) -> Episode:
        """Start an episode; it takes the place of `previous` as that one's next epoch.

        Raises EpisodeExists (409) for an id that is live elsewhere, EpisodeQuarantinedError (410) for that of the kept
        episode while it is in quarantine, AtCapacity (503) or StorageFull (507).
        """
        previous = still_held(previous, previous and previous.holder)
        label = self._label(asked.options.episode_id, previous)
        if previous is None:
            self.make_room(1)
        internal_id = previous.internal_id if previous else self._new_internal_id()
        epoch = previous.epoch + 1 if previous else 1
        manifest = Manifest.model_construct(
            version=VERSION,
            id=label,
            internal_id=internal_id,
            epoch=epoch,
            previous=previous.journal.manifest_checksum if previous else None,
            first_step=0,
            lineage=f"{internal_id}.{epoch}",
            task=task.key,
            options=asked.options,
            planned=dict(task.sources),
            sources=dict(task.sources),
            published=asked.published,
            batch=None,
            state=State.LIVE,
        )
        progress = Progress.start(task, asked.options)
        if previous is not None:
            progress.touched |= previous.progress.touched
        return self._begin(manifest, task, progress, previous=previous)

    def fork(
        self,
        origin: Manifest,
        task: Task,
        progress: Progress,
        payloads: list[bytes],
        label: str | None,
        previous: Episode | None = None,
    ) -> Episode:
        """Start an episode from a snapshot's manifest, with a journal that begins with `payloads`; raises as `open`.

        It takes the place of `previous`, which is freed.
        """
        label = self._label(label, previous)
        if previous is None:
            self.make_room(1)
        begun = {"internal_id": self._new_internal_id(), "epoch": 1, "previous": None, "first_step": progress.step}
        manifest = origin.model_copy(update={"version": VERSION, "id": label, **begun})
        forked = self._begin(manifest, task, progress, payloads, previous=previous)
        if previous is not None:
            self._discard(previous)
        return forked

    def restore(self, episode: Episode, origin: Manifest, progress: Progress, payloads: list[bytes]) -> None:
        """Let an episode stand where a snapshot's manifest and journal say, as its next epoch; raises StorageFull."""
        manifest = episode.manifest.model_copy(
            update={
                "epoch": episode.epoch + 1,
                "previous": episode.journal.manifest_checksum,
                "first_step": progress.step,
                "sources": origin.sources,
            }
        )
        journal = self._files.commit(manifest, payloads)
        progress.at_rest, progress.first_step = dict(manifest.sources), manifest.first_step
        episode.go_on_from(manifest, progress, journal)

    def adopt(self, manifest: Manifest, task: Task, progress: Progress, journal: Journal) -> Episode:
        """Take in an episode that was found in the files."""
        return self._enter(Episode.of(manifest, task, progress, journal, self._tokens.token(manifest.internal_id)))

    def disown(self, episode: Episode) -> None:
        """Let go of an episode that turned out to be unusable; its files stay."""
        episode.journal.close()
        self._live.pop(episode.id, None)
        self._by_internal_id.pop(episode.internal_id, None)

    def hold(self, episode: Episode, holder: object) -> None:
        """Let a connection play the episode, and no other one."""
        episode.holder, episode.detached_at = holder, None
        episode.used_at = time.monotonic()

    @contextmanager
    def holding(self, episode: Episode, holder: object) -> Iterator[None]:
        """Let a connection play the episode from here on; after an error inside it is as it was before."""
        before = episode.holder, episode.detached_at
        self.hold(episode, holder)
        try:
            yield
        except BaseException:
            if episode.holder is holder:
                episode.holder, episode.detached_at = before
            raise

    def detach(self, episode: Episode, holder: object | None = None) -> None:
        """Let the episode outlive its connection for a while; another connection's is left alone."""
        if episode.holder is holder:
            episode.holder, episode.detached_at = None, time.monotonic()

    def free(self, episode: Episode) -> None:
        """End the episode where it still runs and free what the files and the services hold of it."""
        if episode.closed:
            return
        self._leave(episode)
        self._discard(episode)

    def _discard(self, episode: Episode) -> None:
        if self._keep_databases:
            self._files.retire(episode.manifest)
        else:
            self.drops.end(episode)

    def reap(self) -> int:
        """Free every episode that was idle, detached or alive for too long, and say how many."""
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

    async def aclose(self, *, lasting: bool = False) -> None:
        """Let go of every episode, and wait until the services have; lasting ones are found again at the next start."""
        for episode in list(self._live.values()):
            if lasting:
                episode.journal.close()
            else:
                self.free(episode)
        await self.drops.wait()

    def make_room(self, count: int) -> None:
        """Make sure that so many more episodes may live; where there is none, those needed least are freed.

        An episode that is over goes first, then the longest idle. Raises AtCapacity (503), and then none was freed.
        """
        wanted = len(self._live) + count - self._limits.most_episodes
        if wanted <= 0:
            return
        needless = sorted((episode for episode in self._live.values() if self._is_needless(episode)), key=_need)
        if len(needless) < wanted:
            raise AtCapacity(f"{self._limits.most_episodes} episodes are live.")
        for episode in needless[:wanted]:
            self.free(episode)

    def _label(self, asked: str | None, previous: Episode | None) -> str:
        label = asked or secrets.token_hex(_ID_BYTES)
        holder = self._live.get(label)
        if holder is None and label == self._kept_episode and self._quarantine is not None:
            self._quarantine.check_episode(label, is_kept=True)
        if holder is not None and holder is not previous:
            if not holder.done:
                raise EpisodeExists(f"The episode {label!r} is live.")
            self.free(holder)
        return label

    def _new_internal_id(self) -> str:
        return f"{self._node}-{secrets.token_hex(_ID_BYTES)}"

    def _begin(
        self,
        manifest: Manifest,
        task: Task,
        progress: Progress,
        payloads: Sequence[bytes] = (),
        *,
        previous: Episode | None = None,
    ) -> Episode:
        journal = self._files.commit(manifest, payloads)
        progress.at_rest, progress.first_step = dict(manifest.sources), manifest.first_step
        if previous is not None:
            self._leave(previous)
        return self.adopt(manifest, task, progress, journal)

    def _enter(self, episode: Episode) -> Episode:
        self._live[episode.id] = self._by_internal_id[episode.internal_id] = episode
        return episode

    def _leave(self, episode: Episode) -> None:
        if not episode.done:
            self.outcomes[Outcome.CLOSED] += 1
        episode.close()
        self._live.pop(episode.id, None)
        self._by_internal_id.pop(episode.internal_id, None)

    def _is_needless(self, episode: Episode) -> bool:
        if episode.busy or episode.id == self._kept_episode:
            return False
        return episode.done or time.monotonic() - episode.used_at > IDLE_BEFORE_EVICTION_S

    def _is_expired(self, episode: Episode, now: float) -> bool:
        return not (episode.busy or episode.id == self._kept_episode) and self._limits.is_expired(episode, now)


def still_held(previous: Episode | None, holder: object | None) -> Episode | None:
    """Return an episode that another one may take the place of: one that is live and still its holder's."""
    return None if previous is None or previous.closed or previous.holder is not holder else previous


def _need(episode: Episode) -> tuple[bool, float]:
    return not episode.done, episode.used_at
