"""Snapshots: an episode as it stood after a step, to be restored, or forked as new episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

from companyos.contract import SnapshotInfo
from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.drops import context_about
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import (
    EpisodeClosed,
    ForeignSnapshot,
    GatewayProblem,
    HouseFault,
    ServiceRefusalError,
    ServicesDown,
    SnapshotCorrupt,
    SnapshotsFull,
    UnknownSnapshot,
    UnusableError,
)
from companyos_gateway.episode.files import EpisodeFiles
from companyos_gateway.episode.gate import Gate
from companyos_gateway.episode.journal import Entry, entries
from companyos_gateway.episode.loose_sources import LooseSources
from companyos_gateway.episode.manifest import Manifest
from companyos_gateway.episode.progress import Progress, fold
from companyos_gateway.episode.quarantine import Quarantine
from companyos_gateway.episode.snapshot_files import FoundSnapshots, SnapshotFiles
from companyos_gateway.episode.snapshot_format import Snapshot, SnapshotHeader, decode, encode, header_of
from companyos_gateway.episode.store import EpisodeStore, still_held
from companyos_gateway.episode.task import Task, TaskShelf
from companyos_gateway.episode.watch import Watch
from companyos_shared.wire.context import Actor, CallContext


class Snapshots:
    """Every snapshot of this gateway."""

    def __init__(
        self,
        cluster: Cluster,
        files: SnapshotFiles,
        episode_files: EpisodeFiles,
        quarantine: Quarantine,
        shelf: TaskShelf,
        store: EpisodeStore,
        *,
        most_kept: int,
        watch: Watch | None = None,
    ) -> None:
        self._cluster = cluster
        self._files = files
        self._episode_files = episode_files
        self._quarantine = quarantine
        self._shelf = shelf
        self._store = store
        self._most_kept = most_kept
        self._watch = watch or Watch()
        self._kept: dict[str, SnapshotHeader] = {}
        self._loose = LooseSources(cluster, files)
        self._held: set[str] = set()
        """Sources that episodes name which are over while their databases are kept."""
        self._gate = Gate()
        store.drops.after_drop = self.forget_unnamed

    def __len__(self) -> int:
        return len(self._kept)

    def find(self) -> FoundSnapshots:
        """Read the snapshots in the files; one that cannot be read is moved to quarantine."""
        found = self._files.find()
        for snapshot_id in found.ids:
            try:
                self._kept[snapshot_id] = decode(snapshot_id, self._files.read(snapshot_id) or b"").header
            except UnusableError as error:
                self._quarantine.add_snapshot(snapshot_id, error)
        for snapshot_id in found.ended:
            self._loose.add_ended(snapshot_id, ())
            with suppress(OSError, UnusableError):
                self._add_ended(snapshot_id, decode(snapshot_id, self._files.read_ended(snapshot_id)).header)
        return found

    def look_after(self, episodes: Iterable[Episode]) -> None:
        """Take in what found episodes began from: where its snapshot is gone, it goes with the last of them."""
        for episode in episodes:
            for place in episode.manifest.kept_sources():
                self._loose.add(place[0], episode.context(place[0], Actor.TRAINER))

    def hold(self, manifest: Manifest) -> None:
        """Keep what an episode began from that is over while its databases are kept."""
        self._held.update(manifest.sources.values())

    def loosen(self, service: str, context: CallContext) -> None:
        """Let a service forget the source of a context at the next opportunity, unless something names it."""
        self._loose.add(service, context)

    def known(self) -> list[SnapshotInfo]:
        """Return every snapshot, the oldest first."""
        return [header.info(snapshot_id) for snapshot_id, header in self._kept.items()]

    def info(self, snapshot_id: str) -> SnapshotInfo:
        """Return what a snapshot is of; raises UnknownSnapshot (404) or SnapshotCorrupt (410)."""
        return (self._kept.get(snapshot_id) or self._read(snapshot_id).header).info(snapshot_id)

    def sources(self) -> set[str]:
        """Return every source that a snapshot, an episode or something in quarantine names."""
        found = [header.manifest.sources for header in self._kept.values()]
        found += [dict(episode.sources) for episode in self._store]
        named = {source for sources in found for source in sources.values()}
        return named | self._held | self._quarantine.sources()

    def loose(self) -> set[str]:
        """Return every source that is about to be forgotten: services hold it, and nothing names it."""
        return self._loose.sources - self.sources()

    async def take(self, episode: Episode) -> SnapshotInfo:
        """Keep an episode as it stands; raises EpisodeClosed, SnapshotsFull (409), ServicesDown (503), StorageFull."""
        with self._watch.act("snapshot", episode):
            async with episode.turn(), self._gate.together():
                return await self._take(episode)

    async def _take(self, episode: Episode) -> SnapshotInfo:
        self._check_may_keep(episode)
        payloads = _payloads(episode)
        note = self._files.begin(episode.internal_id, episode.epoch)
        try:
            sources = await self._keep_databases(episode)
            self._check_may_keep(episode)
            header = header_of(episode, sources)
            snapshot_id = self._files.keep(encode(header, payloads))
        except ServicesDown as error:
            if isinstance(error.__cause__, ServiceRefusalError):
                self._loose.add_note(note, episode.internal_id)
            raise  # after any other failure of a call the note stays: a start then knows whose databases these are
        except GatewayProblem:
            self._loose.add_note(note, episode.internal_id)
            raise
        self._kept[snapshot_id] = header
        self._loose.discard(header.manifest.kept_sources())
        with suppress(OSError):
            note.unlink()
        return header.info(snapshot_id)

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
            self._store.restore(episode, snapshot.header.manifest, _progress(snapshot, task, steps), snapshot.payloads)

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
                with self._episode_files.all_or_none(snapshot.header.manifest, count) as origin:
                    for _ in range(count):
                        progress = _progress(snapshot, task, steps)
                        progress.touched.clear()
                        forked.append(self._store.fork(origin, task, progress, snapshot.payloads, label, previous))
            except BaseException:
                for episode in forked:
                    self._store.free(episode)
                raise
        return forked

    async def delete(self, snapshot_id: str) -> None:
        """Forget a snapshot and what nothing else names of it; raises UnknownSnapshot (404) or StorageFull (507)."""
        if snapshot_id not in self._kept and self._files.read(snapshot_id) is None:
            raise UnknownSnapshot
        self._files.end(snapshot_id)
        self._loose.add_ended(snapshot_id, ())
        if (header := self._kept.pop(snapshot_id, None)) is not None:
            self._add_ended(snapshot_id, header)
        await self.forget_unnamed()

    async def delete_all(self) -> None:
        """Forget every snapshot; raises as `delete` does."""
        for snapshot_id in list(self._kept):
            await self.delete(snapshot_id)

    async def forget_unnamed(self) -> None:
        """Let the services forget what was a snapshot's, as far as no other one and no live episode names it."""
        if self._loose:
            async with self._gate.alone():
                named = self.sources()
                for episode in self._store:
                    episode.progress.forget_all_but(named)
                await self._loose.forget(named)

    async def forget_sources(self, episode: str, sources: Mapping[str, str]) -> None:
        """Let the services forget databases that were named by something in quarantine, unless something names them."""
        for service, source in sources.items():
            self._loose.add(service, context_about(episode, 1, source))
        await self.forget_unnamed()

    def _add_ended(self, snapshot_id: str, header: SnapshotHeader) -> None:
        places = header.manifest.kept_sources()
        self._loose.add_ended(snapshot_id, places)
        for service, source in places:
            self._loose.add(service, _context(header, source))

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
        keeping = (self._keep(episode, service, context) for service, context in contexts)
        kept = await asyncio.gather(*keeping, return_exceptions=True)
        failures = [failure for failure in kept if isinstance(failure, BaseException)]
        for failure in sorted(failures, key=lambda failure: isinstance(failure, ServiceRefusalError)):
            if isinstance(failure, HouseFault):
                raise ServicesDown(f"The snapshot was not taken: {failure}") from failure
            raise failure
        at_rest.update(
            {service: source for service, source in zip(written, kept, strict=True) if isinstance(source, str)}
        )
        return dict(at_rest)

    async def _keep(self, episode: Episode, service: str, context: CallContext) -> str:
        """Keep one database, which is loose until a snapshot names it."""
        source = await self._cluster.snapshot(service, context, episode.document(service))
        self._loose.add(service, context.model_copy(update={"source": source}))
        return source

    async def _unfold(self, snapshot: Snapshot) -> tuple[Task, list[Entry]]:
        """Return the task and the journal of a snapshot that every service can begin from."""
        header = snapshot.header
        try:
            task = await self._shelf.task(header.manifest.task)
            if dict(task.sources) != header.manifest.planned:
                raise SnapshotCorrupt("It is of another version of the scenario or of a service.")
            places = [place for place in header.manifest.sources.items() if place[1] != task.sources[place[0]]]
            checks = [self._cluster.check(service, _context(header, source)) for service, source in places]
            await asyncio.gather(*checks)
            return task, list(entries(snapshot.payloads))
        except HouseFault as fault:
            raise ServicesDown(f"The snapshot could not be opened: {fault}") from fault
        except UnusableError as error:
            raise SnapshotCorrupt(str(error)) from error

    def _read(self, snapshot_id: str) -> Snapshot:
        content = self._files.read(snapshot_id)
        if content is None:
            if (item := self._quarantine.snapshot_of(snapshot_id)) is not None:
                raise SnapshotCorrupt(f"It is in quarantine as {item.id}: {item.detail}")
            raise UnknownSnapshot(f"No snapshot has the id {snapshot_id}.")
        try:
            return decode(snapshot_id, content)
        except UnusableError as error:
            raise SnapshotCorrupt(str(error)) from error


def _payloads(episode: Episode) -> list[bytes]:
    """Return the lines of an episode's journal, which are verified while they are read; raises ServicesDown (503)."""
    try:
        return episode.journal.payloads()
    except (UnusableError, OSError) as error:
        raise ServicesDown(f"The journal of the episode cannot be read: {error}") from error


def _progress(snapshot: Snapshot, task: Task, steps: list[Entry]) -> Progress:
    progress = Progress.start(task, snapshot.header.manifest.options)
    fold(progress, task, steps)
    return progress


def _context(header: SnapshotHeader, source: str) -> CallContext:
    return context_about(header.manifest.internal_id, header.manifest.epoch, source)
