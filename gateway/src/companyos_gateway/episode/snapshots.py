"""Snapshots: an episode as it stood after a step, to be restored, or forked as new episodes.

A snapshot is one file: a header, then the journal of its episode. What the header names lies in the services. The id
belongs to the bytes, so one that was altered is told from one that was not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from companyos.contract import SnapshotInfo
from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import (
    EpisodeClosed,
    ForeignSnapshot,
    HouseFault,
    JournalUnreadable,
    ServicesDown,
    SnapshotCorrupt,
    SnapshotsFull,
    UnknownSnapshot,
)
from companyos_gateway.episode.files import EpisodeFiles, snapshot_id_of
from companyos_gateway.episode.gate import Gate
from companyos_gateway.episode.journal import Entry, entries
from companyos_gateway.episode.manifest import FORMAT, Manifest
from companyos_gateway.episode.progress import Progress, fold
from companyos_gateway.episode.store import EpisodeStore, still_held
from companyos_gateway.episode.task import Task, TaskShelf
from companyos_gateway.episode.watch import Watch
from companyos_shared.wire.context import Actor, CallContext

_log = logging.getLogger(__name__)


class _Header(BaseModel):
    """The first line of a snapshot."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    snapshot: SnapshotInfo
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A snapshot that was read."""

    header: _Header
    lines: bytes


class Snapshots:
    """Every snapshot of this gateway."""

    def __init__(
        self,
        cluster: Cluster,
        files: EpisodeFiles,
        shelf: TaskShelf,
        store: EpisodeStore,
        *,
        most_kept: int,
        watch: Watch | None = None,
    ) -> None:
        self._cluster = cluster
        self._files = files
        self._shelf = shelf
        self._store = store
        self._most_kept = most_kept
        self._watch = watch or Watch()
        self._kept: dict[str, _Header] = {}
        self._loose: dict[tuple[str, str], CallContext] = {}
        """By service and source: what was kept, and may be named by nothing."""
        self._gate = Gate()
        store.after_drop = self._forget_unnamed

    def __len__(self) -> int:
        return len(self._kept)

    def find(self) -> None:
        """Read the headers of the snapshots that lie in the files; one that cannot be read is left where it lies."""
        for snapshot_id in self._files.snapshots():
            try:
                self._kept[snapshot_id] = self._read(snapshot_id).header
            except (SnapshotCorrupt, UnknownSnapshot) as error:
                _log.warning("%s", error)

    def look_after(self, episodes: Iterable[Episode]) -> None:
        """Take in what found episodes began from: where its snapshot is gone, it goes with the last of them."""
        for episode in episodes:
            for place in _kept_sources(episode.manifest):
                self._loose[place] = episode.context(place[0], Actor.TRAINER)

    def known(self) -> list[SnapshotInfo]:
        """Return every snapshot, the oldest first."""
        return [_info(snapshot_id, header) for snapshot_id, header in self._kept.items()]

    def info(self, snapshot_id: str) -> SnapshotInfo:
        """Return what a snapshot is of; raises UnknownSnapshot (404) or SnapshotCorrupt (410)."""
        return _info(snapshot_id, self._kept.get(snapshot_id) or self._read(snapshot_id).header)

    def sources(self) -> set[str]:
        """Return every source that a snapshot or a live episode names."""
        found = [header.manifest.sources for header in self._kept.values()]
        found += [dict(episode.sources) for episode in self._store]
        return {source for sources in found for source in sources.values()}

    async def take(self, episode: Episode) -> SnapshotInfo:
        """Keep an episode as it stands; raises EpisodeClosed, SnapshotsFull (409), ServicesDown (503), StorageFull."""
        with self._watch.act("snapshot", episode):
            return await self._take(episode)

    async def _take(self, episode: Episode) -> SnapshotInfo:
        async with episode.turn(), self._gate.together():
            self._check_may_keep(episode)
            sources = await self._keep_databases(episode)
            self._check_may_keep(episode)
            info, manifest = _described(episode, sources)
            header = _Header(snapshot=info, manifest=manifest)
            first = header.model_dump_json(exclude={"manifest": {"options": {"resume", "injected_state"}}}).encode()
            snapshot_id = self._files.keep_snapshot(first + b"\n" + episode.journal.lines())
            self._kept[snapshot_id] = header
            for place in _kept_sources(header.manifest):
                self._loose.pop(place, None)
            return _info(snapshot_id, header)

    async def restore(self, episode: Episode, snapshot_id: str) -> None:
        """Let an episode stand where its snapshot was taken, as its next epoch.

        Raises UnknownSnapshot (404), ForeignSnapshot, EpisodeClosed (409), SnapshotLost, SnapshotCorrupt (410),
        StorageFull (507) or ServicesDown (503); the episode is then untouched.
        """
        with self._watch.act("restore", episode):
            await self._restore(episode, snapshot_id)

    async def _restore(self, episode: Episode, snapshot_id: str) -> None:
        snapshot = self._read(snapshot_id)
        if snapshot.header.manifest.lineage != episode.lineage:
            raise ForeignSnapshot("Fork it, or reset with it as injected_state.")
        async with episode.turn(), self._gate.together():
            if episode.closed:
                raise EpisodeClosed
            task, steps = await self._unfold(snapshot)
            if episode.closed:
                raise EpisodeClosed
            self._store.restore(episode, snapshot.header.manifest, _progress(snapshot, task, steps), snapshot.lines)

    async def fork(
        self, snapshot_id: str, count: int, label: str | None = None, previous: Episode | None = None
    ) -> list[Episode]:
        """Start episodes at a snapshot, all or none, one in `previous`'s place; raises as `restore`, and AtCapacity."""
        with self._watch.act("fork"):
            return await self._fork(snapshot_id, count, label, previous)

    async def _fork(self, snapshot_id: str, count: int, label: str | None, previous: Episode | None) -> list[Episode]:
        holder = previous and previous.holder
        snapshot, forked = self._read(snapshot_id), list[Episode]()
        async with self._gate.together():
            task, steps = await self._unfold(snapshot)
            previous = still_held(previous, holder)
            self._store.make_room(count - (previous is not None))
            try:
                with self._files.all_or_none(snapshot.header.manifest, count) as origin:
                    for _ in range(count):
                        progress = _progress(snapshot, task, steps)
                        progress.touched.clear()
                        forked.append(self._store.fork(origin, task, progress, snapshot.lines, label, previous))
            except BaseException:
                for episode in forked:
                    self._store.free(episode)
                raise
        return forked

    async def delete(self, snapshot_id: str) -> None:
        """Forget a snapshot and what nothing else names of it; raises UnknownSnapshot (404) or StorageFull (507)."""
        if snapshot_id not in self._kept and self._files.snapshot(snapshot_id) is None:
            raise UnknownSnapshot
        self._files.remove_snapshot(snapshot_id)
        header = self._kept.pop(snapshot_id, None)
        if header is not None:
            self._loose |= {place: _context(header, place[0]) for place in _kept_sources(header.manifest)}
        await self._forget_unnamed()

    async def _forget_unnamed(self) -> None:
        """Let the services forget what was a snapshot's, as far as no other one and no live episode names it."""
        if not self._loose:
            return
        async with self._gate.alone():
            named = self.sources()
            for episode in self._store:
                episode.progress.forget_all_but(named)
            unnamed = {place: context for place, context in self._loose.items() if context.source not in named}
            await asyncio.gather(*(self._cluster.forget(service, context) for (service, _), context in unnamed.items()))
            self._loose = {place: context for place, context in self._loose.items() if place not in unnamed}

    def _check_may_keep(self, episode: Episode) -> None:
        """Raise EpisodeClosed or SnapshotsFull (409). Either can come about while the services copy."""
        if episode.closed:
            raise EpisodeClosed
        if len(self._kept) >= self._most_kept:
            raise SnapshotsFull(f"{self._most_kept} snapshots are kept.")

    async def _keep_databases(self, episode: Episode) -> dict[str, str]:
        at_rest = episode.progress.at_rest
        written = sorted(episode.sources.keys() - at_rest.keys())
        contexts = [(service, episode.context(service, Actor.TRAINER)) for service in written]
        try:
            kept = await asyncio.gather(*(self._keep(episode, service, context) for service, context in contexts))
        except HouseFault as fault:
            raise ServicesDown(f"The snapshot was not taken: {fault}") from fault
        at_rest.update(zip(written, kept, strict=True))
        return dict(at_rest)

    async def _keep(self, episode: Episode, service: str, context: CallContext) -> str:
        """Keep one database, which is loose until a snapshot names it."""
        source = await self._cluster.snapshot(service, context, episode.document(service))
        self._loose[service, source] = context.model_copy(update={"source": source})
        return source

    async def _unfold(self, snapshot: _Snapshot) -> tuple[Task, list[Entry]]:
        """Return the task and the journal of a snapshot that every service can begin from."""
        header = snapshot.header
        try:
            task = await self._shelf.task(header.manifest.task)
            if dict(task.sources) != header.manifest.planned:
                raise SnapshotCorrupt("It is of another version of the scenario or of a service.")
            changed = [
                service for service, source in header.manifest.sources.items() if source != task.sources[service]
            ]
            await asyncio.gather(*(self._cluster.check(service, _context(header, service)) for service in changed))
            return task, list(entries(snapshot.lines))
        except HouseFault as fault:
            raise ServicesDown(f"The snapshot could not be opened: {fault}") from fault
        except JournalUnreadable as error:
            raise SnapshotCorrupt(str(error)) from error

    def _read(self, snapshot_id: str) -> _Snapshot:
        content = self._files.snapshot(snapshot_id)
        if content is None:
            raise UnknownSnapshot(f"No snapshot has the id {snapshot_id}.")
        if snapshot_id_of(content) != snapshot_id:
            raise SnapshotCorrupt(f"The bytes of {snapshot_id} are not those that were written.")
        first, _, lines = content.partition(b"\n")
        try:
            header = _Header.model_validate_json(first)
        except ValidationError as error:
            raise SnapshotCorrupt(f"{snapshot_id} was written by another version.") from error
        if header.manifest.format != FORMAT:
            raise SnapshotCorrupt(f"{snapshot_id} is of format {header.manifest.format}.")
        return _Snapshot(header, lines)


def _progress(snapshot: _Snapshot, task: Task, steps: list[Entry]) -> Progress:
    progress = Progress.start(task, snapshot.header.manifest.options)
    fold(progress, task, steps)
    return progress


def _described(episode: Episode, sources: dict[str, str]) -> tuple[SnapshotInfo, Manifest]:
    key, progress = episode.task.key, episode.progress
    info = SnapshotInfo(
        id="0" * 32,
        episode_id=episode.id,
        scenario=key.scenario,
        seed=key.seed,
        chaos=key.chaos,
        step=progress.step,
        now=progress.now,
        return_=progress.ledger.return_,
        done=episode.done,
    )
    return info, episode.manifest.model_copy(update={"sources": sources})


def _info(snapshot_id: str, header: _Header) -> SnapshotInfo:
    return header.snapshot.model_copy(update={"id": snapshot_id})


def _kept_sources(manifest: Manifest) -> list[tuple[str, str]]:
    """Return service and source of what was kept for a snapshot; the rest lies in templates."""
    return [place for place in manifest.sources.items() if place[1] != manifest.planned.get(place[0])]


def _context(header: _Header, service: str) -> CallContext:
    manifest = header.manifest
    return CallContext(
        episode=manifest.internal_id,
        epoch=manifest.epoch,
        source=manifest.sources[service],
        step=0,
        actor=Actor.TRAINER,
        now=header.snapshot.now,
    )
