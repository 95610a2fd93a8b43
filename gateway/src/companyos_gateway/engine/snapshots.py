"""Snapshots: states of episodes after a step, which can be restored, or forked as new episodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

from companyos.contract import SnapshotInfo
from companyos_gateway.engine.concurrency import ReadWriteLock
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.episode_files import EpisodeFiles
from companyos_gateway.engine.episode_removal import control_context
from companyos_gateway.engine.errors import (
    CorruptSnapshotError,
    EpisodeClosedError,
    ForeignSnapshotError,
    GatewayError,
    InfrastructureError,
    ServiceRefusalError,
    ServicesUnavailableError,
    SnapshotLimitError,
    UnknownSnapshotError,
    UnusableFilesError,
)
from companyos_gateway.engine.journal import Entry, entries
from companyos_gateway.engine.manifest import Manifest
from companyos_gateway.engine.metrics import EngineMetrics
from companyos_gateway.engine.progress import Progress, replay
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.snapshot_files import (
    Snapshot,
    SnapshotFiles,
    SnapshotHeader,
    SnapshotScan,
    build_header,
    decode_snapshot,
    encode_snapshot,
)
from companyos_gateway.engine.snapshot_gc import UnreferencedSources
from companyos_gateway.engine.store import EpisodeStore, find_replaceable
from companyos_gateway.engine.task_cache import Task, TaskCache
from companyos_shared.wire.context import Actor, CallContext


class Snapshots:
    """All snapshots of this gateway."""

    def __init__(
        self,
        service_clients: ServiceClients,
        files: SnapshotFiles,
        episode_files: EpisodeFiles,
        quarantine: Quarantine,
        task_cache: TaskCache,
        store: EpisodeStore,
        *,
        max_snapshots: int,
        metrics: EngineMetrics | None = None,
    ) -> None:
        self._service_clients = service_clients
        self._files = files
        self._episode_files = episode_files
        self._quarantine = quarantine
        self._task_cache = task_cache
        self._store = store
        self._max_snapshots = max_snapshots
        self._metrics = metrics or EngineMetrics()
        self._headers: dict[str, SnapshotHeader] = {}
        self._unreferenced = UnreferencedSources(service_clients, files)
        self._retained_sources: set[str] = set()
        """Sources of ended episodes whose databases are kept."""
        self._lock = ReadWriteLock()
        store.remover.on_end = self.forget_unreferenced

    def __len__(self) -> int:
        return len(self._headers)

    def scan(self) -> SnapshotScan:
        """Read all snapshot files; those that cannot be decoded are moved to quarantine."""
        scan = self._files.scan()
        for snapshot_id in scan.ids:
            try:
                self._headers[snapshot_id] = decode_snapshot(snapshot_id, self._files.read(snapshot_id) or b"").header
            except UnusableFilesError as error:
                self._quarantine.add_snapshot(snapshot_id, error)
        for snapshot_id in scan.ended:
            self._unreferenced.add_deleted_snapshot(snapshot_id, ())
            with suppress(OSError, UnusableFilesError):
                self._add_deleted_snapshot(
                    snapshot_id, decode_snapshot(snapshot_id, self._files.read_ended(snapshot_id)).header
                )
        return scan

    def track_sources(self, episodes: Iterable[Episode]) -> None:
        """Register snapshot sources of recovered episodes, to be deleted when no snapshot or episode uses them."""
        for episode in episodes:
            for place in episode.manifest.snapshot_sources():
                self._unreferenced.add(place[0], episode.context(place[0], Actor.TRAINER))

    def protect_sources(self, manifest: Manifest) -> None:
        """Retain the sources of an ended episode whose databases are kept."""
        self._retained_sources.update(manifest.sources.values())

    def mark_unreferenced(self, service: str, context: CallContext) -> None:
        """Mark the source of a context for deletion in a service, unless it is referenced."""
        self._unreferenced.add(service, context)

    def list_all(self) -> list[SnapshotInfo]:
        """Return all snapshots, oldest first."""
        return [header.info(snapshot_id) for snapshot_id, header in self._headers.items()]

    def info(self, snapshot_id: str) -> SnapshotInfo:
        """Return the description of a snapshot; raises UnknownSnapshotError (404) or CorruptSnapshotError (410)."""
        return (self._headers.get(snapshot_id) or self._read(snapshot_id).header).info(snapshot_id)

    def sources(self) -> set[str]:
        """Return every source that a snapshot, an episode or an item in quarantine references."""
        source_maps = [header.manifest.sources for header in self._headers.values()]
        source_maps += [dict(episode.sources) for episode in self._store]
        referenced = {source for sources in source_maps for source in sources.values()}
        return referenced | self._retained_sources | self._quarantine.sources()

    def unreferenced(self) -> set[str]:
        """Return every source in the services that is unreferenced and not deleted yet."""
        return self._unreferenced.sources - self.sources()

    async def take(self, episode: Episode) -> SnapshotInfo:
        """Take a snapshot of an episode.

        Raises EpisodeClosedError, SnapshotLimitError (409), EpisodeQueueFullError (429), ServicesUnavailableError (503)
        or StorageFullError (507).
        """
        with self._metrics.measure_operation("snapshot", episode):
            async with episode.call_lock(), self._lock.shared():
                return await self._take(episode)

    async def _take(self, episode: Episode) -> SnapshotInfo:
        self._check_can_snapshot(episode)
        payloads = _payloads(episode)
        marker = self._files.begin(episode.internal_id, episode.epoch)
        try:
            sources = await self._keep_databases(episode)
            self._check_can_snapshot(episode)
            header = build_header(episode, sources)
            snapshot_id = self._files.write(encode_snapshot(header, payloads))
        except ServicesUnavailableError as error:
            if isinstance(error.__cause__, ServiceRefusalError):
                self._unreferenced.add_marker(marker, episode.internal_id)
            raise  # otherwise the marker remains on disk: the next start then deletes these databases
        except GatewayError:
            self._unreferenced.add_marker(marker, episode.internal_id)
            raise
        self._headers[snapshot_id] = header
        self._unreferenced.discard(header.manifest.snapshot_sources())
        with suppress(OSError):
            marker.unlink()
        return header.info(snapshot_id)

    async def restore(self, episode: Episode, snapshot_id: str) -> None:
        """Restore an episode to one of its snapshots, as its next epoch.

        Raises UnknownSnapshotError (404), ForeignSnapshotError, EpisodeClosedError (409), LostSnapshotError,
        CorruptSnapshotError (410), EpisodeQueueFullError (429), ServicesUnavailableError (503) or StorageFullError
        (507); the episode is then unchanged.
        """
        with self._metrics.measure_operation("restore", episode):
            await self._restore(episode, snapshot_id)

    async def _restore(self, episode: Episode, snapshot_id: str) -> None:
        snapshot = self._read(snapshot_id)
        if snapshot.header.manifest.lineage != episode.lineage:
            raise ForeignSnapshotError
        async with episode.call_lock(), self._lock.shared():
            if episode.closed:
                raise EpisodeClosedError
            task, steps = await self._load_journal(snapshot)
            if episode.closed:
                raise EpisodeClosedError
            self._store.restore(episode, snapshot.header.manifest, _progress(snapshot, task, steps), snapshot.payloads)

    async def fork(
        self, snapshot_id: str, count: int, label: str | None = None, previous: Episode | None = None
    ) -> list[Episode]:
        """Start `count` episodes from a snapshot, all or none; a single one can replace `previous`.

        Raises UnknownSnapshotError (404), EpisodeExistsError (409), LostSnapshotError, CorruptSnapshotError,
        EpisodeQuarantinedError (410), AtCapacityError, ServicesUnavailableError (503) or StorageFullError (507).
        """
        with self._metrics.measure_operation("fork"):
            return await self._fork(snapshot_id, count, label, previous)

    async def _fork(self, snapshot_id: str, count: int, label: str | None, previous: Episode | None) -> list[Episode]:
        holder = previous and previous.holder
        snapshot, forked = self._read(snapshot_id), list[Episode]()
        async with self._lock.shared():
            task, steps = await self._load_journal(snapshot)
            previous = find_replaceable(previous, holder)
            try:
                with (
                    self._store.making_room(count, label, previous),
                    self._episode_files.atomic_batch(snapshot.header.manifest, count) as origin,
                ):
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
        """Delete a snapshot and the databases that only it references.

        Raises UnknownSnapshotError (404) or StorageFullError (507).
        """
        if snapshot_id not in self._headers and self._files.read(snapshot_id) is None:
            raise UnknownSnapshotError(f"No snapshot has the id {snapshot_id}.")
        self._files.mark_ended(snapshot_id)
        self._unreferenced.add_deleted_snapshot(snapshot_id, ())
        if (header := self._headers.pop(snapshot_id, None)) is not None:
            self._add_deleted_snapshot(snapshot_id, header)
        await self.forget_unreferenced()

    async def delete_all(self) -> None:
        """Delete every snapshot; raises the errors of `delete`."""
        for snapshot_id in list(self._headers):
            await self.delete(snapshot_id)

    async def forget_unreferenced(self) -> None:
        """Delete the unreferenced snapshot databases in the services."""
        if self._unreferenced:
            async with self._lock.exclusive():
                referenced = self.sources()
                for episode in self._store:
                    episode.progress.retain_sources(referenced)
                await self._unreferenced.forget(referenced)

    async def forget_sources(self, episode: str, sources: Mapping[str, str]) -> None:
        """Delete the databases of a former quarantine item in the services, unless they are still referenced."""
        for service, source in sources.items():
            self._unreferenced.add(service, control_context(episode, 1, source))
        await self.forget_unreferenced()

    def _add_deleted_snapshot(self, snapshot_id: str, header: SnapshotHeader) -> None:
        places = header.manifest.snapshot_sources()
        self._unreferenced.add_deleted_snapshot(snapshot_id, places)
        for service, source in places:
            self._unreferenced.add(service, _context(header, source))

    def _check_can_snapshot(self, episode: Episode) -> None:
        """Raise EpisodeClosedError or SnapshotLimitError (409). Either can occur while the services copy databases."""
        if episode.closed:
            raise EpisodeClosedError
        if len(self._headers) >= self._max_snapshots:
            raise SnapshotLimitError(f"{self._max_snapshots} snapshots are kept.")

    async def _keep_databases(self, episode: Episode) -> dict[str, str]:
        unchanged_sources = episode.progress.unchanged_sources
        written = sorted(episode.sources.keys() - unchanged_sources.keys())
        contexts = [(service, episode.context(service, Actor.TRAINER)) for service in written]
        snapshot_calls = (self._keep(episode, service, context) for service, context in contexts)
        results = await asyncio.gather(*snapshot_calls, return_exceptions=True)
        failures = [failure for failure in results if isinstance(failure, BaseException)]
        for failure in sorted(failures, key=lambda failure: isinstance(failure, ServiceRefusalError)):
            if isinstance(failure, InfrastructureError):
                raise ServicesUnavailableError(f"Failed to take the snapshot: {failure}") from failure
            raise failure
        unchanged_sources.update(
            {service: source for service, source in zip(written, results, strict=True) if isinstance(source, str)}
        )
        return dict(unchanged_sources)

    async def _keep(self, episode: Episode, service: str, context: CallContext) -> str:
        """Store one database as a source, which is unreferenced until the snapshot is written."""
        source = await self._service_clients.snapshot(service, context, episode.seed_document(service))
        self._unreferenced.add(service, context.model_copy(update={"source": source}))
        return source

    async def _load_journal(self, snapshot: Snapshot) -> tuple[Task, list[Entry]]:
        """Return the task and the journal entries of a snapshot, after checking its databases in every service."""
        header = snapshot.header
        try:
            task = await self._task_cache.task(header.manifest.task)
            if dict(task.sources) != header.manifest.planned:
                raise CorruptSnapshotError("It is of another version of the scenario or of a service.")
            places = [place for place in header.manifest.sources.items() if place[1] != task.sources[place[0]]]
            checks = [self._service_clients.check(service, _context(header, source)) for service, source in places]
            await asyncio.gather(*checks)
            return task, list(entries(snapshot.payloads))
        except InfrastructureError as fault:
            raise ServicesUnavailableError(f"The snapshot could not be opened: {fault}") from fault
        except UnusableFilesError as error:
            raise CorruptSnapshotError(str(error)) from error

    def _read(self, snapshot_id: str) -> Snapshot:
        content = self._files.read(snapshot_id)
        if content is None:
            if (item := self._quarantine.find_snapshot(snapshot_id)) is not None:
                raise CorruptSnapshotError(f"It is in quarantine as {item.id}: {item.detail}")
            raise UnknownSnapshotError(f"No snapshot has the id {snapshot_id}.")
        try:
            return decode_snapshot(snapshot_id, content)
        except UnusableFilesError as error:
            raise CorruptSnapshotError(str(error)) from error


def _payloads(episode: Episode) -> list[bytes]:
    """Return the verified payloads of an episode's journal; raises ServicesUnavailableError (503)."""
    try:
        return episode.journal.payloads()
    except (UnusableFilesError, OSError) as error:
        raise ServicesUnavailableError(f"The journal of the episode cannot be read: {error}") from error


def _progress(snapshot: Snapshot, task: Task, steps: list[Entry]) -> Progress:
    progress = Progress.start(task, snapshot.header.manifest.options)
    replay(progress, task, steps)
    return progress


def _context(header: SnapshotHeader, source: str) -> CallContext:
    return control_context(header.manifest.internal_id, header.manifest.epoch, source)
