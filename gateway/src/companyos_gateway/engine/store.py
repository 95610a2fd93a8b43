"""The live episodes by id, their limits, and their removal."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from companyos.contract import Outcome
from companyos_gateway.engine.episode import VERSION, Episode
from companyos_gateway.engine.episode_files import EpisodeFiles
from companyos_gateway.engine.episode_removal import EpisodeRemover
from companyos_gateway.engine.errors import AtCapacityError, EpisodeExistsError, EpisodeKeptError, UnknownEpisodeError
from companyos_gateway.engine.journal import Journal
from companyos_gateway.engine.manifest import Manifest, ManifestState
from companyos_gateway.engine.progress import Progress
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.reset_request import ResetRequest
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.task_cache import Task
from companyos_gateway.engine.tokens import EpisodeTokens

REAP_INTERVAL_S = 5.0
IDLE_BEFORE_EVICTION_S = 60.0

_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_ID_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """Maximum number of live episodes, and their time limits: idle, detached and in total."""

    max_episodes: int
    idle_s: float
    detached_s: float
    lifetime_s: float

    def is_expired(self, episode: Episode, now: float) -> bool:
        """Return whether an episode has exceeded its idle time, detached time or lifetime."""
        if now - episode.began_at > self.lifetime_s:
            return True
        is_detached = episode.detached_at is not None and now - episode.detached_at > self.detached_s
        return now - episode.used_at > (self.detached_s if is_detached else self.idle_s)


class EpisodeStore:
    """All live episodes of this process. Times are on the monotonic clock."""

    def __init__(
        self,
        service_clients: ServiceClients,
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
        self.remover = EpisodeRemover(service_clients, files)
        self.outcomes: Counter[Outcome] = Counter()

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self._live.values())

    def has(self, episode_id: str) -> bool:
        """Return whether an episode of that id is live."""
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

    def get_by_token(self, token: str) -> Episode:
        """Return the live episode of that token; raises UnknownEpisodeError (404)."""
        internal_id = self._tokens.find(token, self._by_internal_id)
        if internal_id is None:
            raise UnknownEpisodeError("No live episode has this token.")
        return self._by_internal_id[internal_id]

    def open(self, reset_request: ResetRequest, task: Task, previous: Episode | None = None) -> Episode:
        """Start an episode, which replaces `previous` as its next epoch.

        Raises EpisodeExistsError (409) if another live episode has the id, EpisodeQuarantinedError (410) for the id of
        the kept episode while it is in quarantine, AtCapacityError (503) or StorageFullError (507).
        """
        label = reset_request.options.episode_id
        internal_id = previous.internal_id if previous else self._new_internal_id()
        epoch = previous.epoch + 1 if previous else 1
        manifest = Manifest.model_construct(
            version=VERSION,
            id=label or _new_label(),
            internal_id=internal_id,
            epoch=epoch,
            previous=previous.journal.manifest_checksum if previous else None,
            first_step=0,
            lineage=f"{internal_id}.{epoch}",
            task=task.key,
            options=reset_request.options,
            planned=dict(task.sources),
            sources=dict(task.sources),
            published=reset_request.published,
            batch=None,
            state=ManifestState.LIVE,
        )
        progress = Progress.start(task, reset_request.options)
        if previous is not None:
            progress.touched = previous.progress.touched  # shared with a step in flight of the previous epoch
        with self.making_room(1, label, previous):
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
        """Start an episode from a snapshot's manifest, with a journal that begins with `payloads`.

        The caller makes room for it. The episode replaces `previous`, which is freed. Raises StorageFullError (507).
        """
        identity = {"internal_id": self._new_internal_id(), "epoch": 1, "previous": None, "first_step": progress.step}
        manifest = origin.model_copy(update={"version": VERSION, "id": label or _new_label(), **identity})
        forked = self._begin(manifest, task, progress, payloads, previous=previous)
        if previous is not None:
            self._discard(previous)
        return forked

    def restore(self, episode: Episode, origin: Manifest, progress: Progress, payloads: list[bytes]) -> None:
        """Restore an episode from a snapshot, as its next epoch; raises StorageFullError (507)."""
        manifest = episode.manifest.model_copy(
            update={
                "epoch": episode.epoch + 1,
                "previous": episode.journal.manifest_checksum,
                "first_step": progress.step,
                "sources": origin.sources,
            }
        )
        journal = self._files.commit(manifest, payloads)
        progress.unchanged_sources, progress.first_step = dict(manifest.sources), manifest.first_step
        episode.switch_epoch(manifest, progress, journal)

    def register(self, manifest: Manifest, task: Task, progress: Progress, journal: Journal) -> Episode:
        """Add an episode whose manifest and journal are committed."""
        return self._add(Episode.of(manifest, task, progress, journal, self._tokens.token(manifest.internal_id)))

    def unregister(self, episode: Episode) -> None:
        """Remove an unusable episode from the store; its files remain."""
        episode.journal.close()
        self._live.pop(episode.id, None)
        self._by_internal_id.pop(episode.internal_id, None)

    def hold(self, episode: Episode, holder: object) -> None:
        """Assign the episode to a connection, its only holder."""
        episode.holder, episode.detached_at = holder, None
        episode.used_at = time.monotonic()

    @contextmanager
    def holding(self, episode: Episode, holder: object) -> Iterator[None]:
        """Assign the episode to a connection; an error in the `with` block restores the previous holder."""
        before = episode.holder, episode.detached_at
        self.hold(episode, holder)
        try:
            yield
        except BaseException:
            if episode.holder is holder:
                episode.holder, episode.detached_at = before
            raise

    def detach(self, episode: Episode, holder: object | None = None) -> None:
        """Detach the episode from its connection, unless another connection holds it."""
        if episode.holder is holder:
            episode.holder, episode.detached_at = None, time.monotonic()

    def delete(self, episode_id: str) -> None:
        """Free the live episode of that id; raises EpisodeKeptError (409) for the kept one, and the errors of `get`."""
        episode = self.get(episode_id)
        if episode_id == self._kept_episode:
            raise EpisodeKeptError(f"The gateway keeps the episode {episode_id!r}.")
        self.free(episode)

    def free(self, episode: Episode) -> None:
        """Close the episode if it is open, and remove it from the files and the services."""
        if episode.closed:
            return
        self._remove(episode)
        self._discard(episode)

    def _discard(self, episode: Episode) -> None:
        if self._keep_databases:
            self._files.mark_kept(episode.manifest)
        else:
            self.remover.end(episode)

    def reap(self) -> int:
        """Free every expired episode, and return their number."""
        now = time.monotonic()
        expired = [episode for episode in self._live.values() if self._is_expired(episode, now)]
        for episode in expired:
            self.free(episode)
        return len(expired)

    async def reap_forever(self) -> None:
        """Reap every REAP_INTERVAL_S seconds, until cancelled."""
        while True:
            await asyncio.sleep(REAP_INTERVAL_S)
            self.reap()

    async def aclose(self, *, keep_files: bool = False) -> None:
        """Free every episode and send the drops; with `keep_files`, the next start restores them instead."""
        for episode in list(self._live.values()):
            if keep_files:
                episode.journal.close()
            else:
                self.free(episode)
        await self.remover.aclose()

    @contextmanager
    def making_room(self, count: int, label: str | None = None, previous: Episode | None = None) -> Iterator[None]:
        """Free ended or idle episodes once `count` more have been started in the `with` block, if there are too many.

        One that replaces `previous`, or an ended episode with its id `label`, needs no room. Ended episodes are freed
        first, then those that are idle the longest. Raises EpisodeExistsError (409), EpisodeQuarantinedError (410) or
        AtCapacityError (503). After an error, also one in the block, none is freed.
        """
        replaced = (previous is not None) + self._replaces_ended(label, previous)
        evicted = self._find_evictable(count - replaced)
        yield
        for episode in evicted:
            self.free(episode)

    def _find_evictable(self, count: int) -> list[Episode]:
        """Return the episodes to free for `count` more; raises AtCapacityError (503)."""
        excess = len(self._live) + count - self._limits.max_episodes
        if count <= 0 or excess <= 0:
            return []
        evictable = sorted(
            (episode for episode in self._live.values() if self._is_evictable(episode)), key=_eviction_order
        )
        if len(evictable) < excess:
            raise AtCapacityError(f"{self._limits.max_episodes} episodes are live.")
        return evictable[:excess]

    def _replaces_ended(self, label: str | None, previous: Episode | None) -> bool:
        """Return whether an ended episode other than `previous` has the id of a new one.

        Raises EpisodeExistsError (409) or EpisodeQuarantinedError (410).
        """
        if label is None:
            return False
        current = self._live.get(label)
        if current is None and label == self._kept_episode and self._quarantine is not None:
            self._quarantine.check_episode(label, is_kept=True)
        if current is None or current is previous:
            return False
        if not current.done:
            raise EpisodeExistsError(f"The episode {label!r} is live.")
        return True

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
        progress.unchanged_sources, progress.first_step = dict(manifest.sources), manifest.first_step
        if previous is not None:
            self._remove(previous)
        if (ended := self._live.get(manifest.id)) is not None:
            self.free(ended)
        return self.register(manifest, task, progress, journal)

    def _add(self, episode: Episode) -> Episode:
        self._live[episode.id] = self._by_internal_id[episode.internal_id] = episode
        return episode

    def _remove(self, episode: Episode) -> None:
        if not episode.done:
            self.outcomes[Outcome.CLOSED] += 1
        episode.close()
        self._live.pop(episode.id, None)
        self._by_internal_id.pop(episode.internal_id, None)

    def _is_evictable(self, episode: Episode) -> bool:
        if episode.busy or episode.id == self._kept_episode:
            return False
        return episode.done or time.monotonic() - episode.used_at > IDLE_BEFORE_EVICTION_S

    def _is_expired(self, episode: Episode, now: float) -> bool:
        return not (episode.busy or episode.id == self._kept_episode) and self._limits.is_expired(episode, now)


def _new_label() -> str:
    return secrets.token_hex(_ID_BYTES)


def find_replaceable(previous: Episode | None, holder: object | None) -> Episode | None:
    """Return `previous` if it can be replaced, because it is open and still has that holder, else None."""
    return None if previous is None or previous.closed or previous.holder is not holder else previous


def _eviction_order(episode: Episode) -> tuple[bool, float]:
    return not episode.done, episode.used_at
