"""Recovery at start: restores episodes from manifests and journals, and compares the services with them.

Only data that is marked as ended or was never committed is deleted. Unusable files, and databases that no file
references, are moved to quarantine.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from companyos.contract import Outcome
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.episode_files import EpisodeFiles, EpisodeScan
from companyos_gateway.engine.errors import (
    CorruptSnapshotError,
    GatewayError,
    InfrastructureError,
    LostSnapshotError,
    QuarantineReason,
    ServiceRefusalError,
    UnusableFilesError,
)
from companyos_gateway.engine.journal import entries
from companyos_gateway.engine.manifest import Manifest, ManifestState
from companyos_gateway.engine.progress import Progress, replay
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.reconciliation import Inventory, Reconciliation
from companyos_gateway.engine.snapshots import Snapshots
from companyos_gateway.engine.task_cache import Task
from companyos_shared.wire.context import Actor

_MAX_CONCURRENT_RECOVERIES = 16
_RETRY_DELAY_S = 0.5
_MAX_REFUSALS = 10
_DATABASE_ERROR_CODES = frozenset({"episode-corrupt", "episode-outdated", "episode-dropped", "stale-epoch"})
"""Error codes of a service whose database does not match the journal."""

_GATEWAY_ERROR_CODES = frozenset({"stale-generation", "lease-held", "call-expired", "not-signed"})
"""Error codes of a service that refuses the gateway itself, regardless of the episode."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class GatewayRefusedError(Exception):
    """A service refuses this gateway, so its episodes cannot be checked and the start fails."""


@dataclass(slots=True)
class Recovery:
    """Restores all episodes and snapshots from the files."""

    engine: EpisodeEngine
    files: EpisodeFiles
    snapshots: Snapshots
    quarantine: Quarantine

    async def run(self) -> int:
        """Restore every episode and complete its pending step; return the number of live episodes."""
        inventory = await Inventory.read(self.engine.service_clients)
        scan, snapshot_scan = self.files.scan(), self.snapshots.scan()
        for path in (*scan.unknown, *snapshot_scan.unknown):
            self.quarantine.report_unknown(path)
        for internal_id, error in scan.unusable.items():
            self.quarantine.add_episode(internal_id, error)
        await self._recover_all(scan, inventory)
        self.snapshots.track_sources(self.engine.store)
        kept_ids = {manifest.internal_id for manifest, _ in scan.manifests if manifest.state is ManifestState.KEPT}
        reconciliation = Reconciliation(inventory, self.engine, self.snapshots, self.quarantine, kept_ids)
        await reconciliation.run(scan.ended, snapshot_scan.pending)
        for marker in scan.notes:
            marker.unlink()
        return len(self.engine.store)

    async def _recover_all(self, scan: EpisodeScan, inventory: Inventory) -> None:
        semaphore = asyncio.Semaphore(_MAX_CONCURRENT_RECOVERIES)
        labels, recoveries = set[str](), []

        async def recover(manifest: Manifest, checksum: str) -> None:
            async with semaphore:
                await self._recover_or_quarantine(manifest, checksum, inventory)

        for manifest, checksum in scan.manifests:
            if manifest.state is ManifestState.KEPT:
                self.snapshots.protect_sources(manifest)
            elif manifest.id in labels:
                error = UnusableFilesError(
                    QuarantineReason.DUPLICATE, f"another live episode has the id {manifest.id!r}"
                )
                self.quarantine.add_episode(manifest.internal_id, error)
            else:
                labels.add(manifest.id)
                recoveries.append(recover(manifest, checksum))
        await asyncio.gather(*recoveries)

    async def _recover_or_quarantine(self, manifest: Manifest, checksum: str, inventory: Inventory) -> None:
        try:
            await self._recover(manifest, checksum, inventory)
        except UnusableFilesError as error:
            self.quarantine.add_episode(manifest.internal_id, error)
        else:
            self.files.remove_other_epochs(manifest)

    async def _recover(self, manifest: Manifest, checksum: str, inventory: Inventory) -> None:
        """Restore an episode from its files; raises UnusableFilesError."""
        journal = self.files.journal(manifest, checksum)
        payloads = journal.recover()
        task = await self._replan_task(manifest)
        progress = Progress.start(task, manifest.options)
        progress.first_step = manifest.first_step
        with _scenario_errors(manifest, "the steps cannot be judged"):
            pending_intent = replay(progress, task, entries(payloads))
        progress.touched.update(task.sources)
        inventory.check(manifest, {service for service in task.sources if progress.has_written(service)})
        unregistered = Episode.of(manifest, task, progress, journal, token="")
        is_settled = pending_intent is None and progress.outcome is not Outcome.INFRA_ERROR
        await self._check_databases(unregistered, inventory, compare_digests=is_settled)
        episode = self.engine.store.register(manifest, task, progress, journal)
        if pending_intent is None:
            return
        async with episode.call_lock():
            await self.engine.run_step(episode, pending_intent)
        _log.info("step %d of the episode %s was completed", pending_intent.step, episode.internal_id)
        try:
            await self._check_databases(episode, inventory, compare_digests=episode.outcome is not Outcome.INFRA_ERROR)
        except UnusableFilesError:
            self.engine.store.unregister(episode)
            raise

    async def _replan_task(self, manifest: Manifest) -> Task:
        """Plan the task of an episode again; raises UnusableFilesError if that fails or its sources have changed."""
        with _scenario_errors(manifest, "the task cannot be planned"):
            task = await self._retry_until_answered(manifest, lambda: self.engine.task_cache.task(manifest.task))
        changed = sorted(
            service
            for service in manifest.planned.keys() | task.sources.keys()
            if manifest.planned.get(service) != task.sources.get(service)
        )
        if changed:
            detail = f"{manifest.task.scenario} plans other documents for {', '.join(changed)} than at the start"
            raise UnusableFilesError(QuarantineReason.TASK_CHANGED, detail)
        return task

    async def _check_databases(self, episode: Episode, inventory: Inventory, *, compare_digests: bool) -> None:
        """Compare the databases of an episode with its journal; raises UnusableFilesError if they differ.

        A database is compared even if the journal contains no write to it, because unsynced lines may be lost. An
        episode that ended as infra_error may have one step more in a database than in its journal.
        """
        manifest = episode.manifest
        epochs = {name: inventory.epochs(name, manifest.internal_id) for name in episode.sources}
        await asyncio.gather(
            *(
                self._check_database(
                    episode, name, compare_digests, has_database=manifest.epoch in (epochs[name] or ())
                )
                for name in sorted(episode.sources)
            )
        )

    async def _check_database(
        self, episode: Episode, service: str, compare_digests: bool, *, has_database: bool
    ) -> None:
        context, document = episode.context(service, Actor.TRAINER), episode.seed_document(service)
        service_clients = self.engine.service_clients
        try:
            if has_database or episode.progress.has_written(service):
                reply = await self._retry_until_answered(
                    episode.manifest, lambda: service_clients.digest(service, context, document)
                )
                if compare_digests and reply.digest != episode.evidence.fold_digest(service):
                    raise UnusableFilesError(
                        QuarantineReason.DATABASE_MISMATCH,
                        f"the database of {service} does not match the journal",
                    )
            elif document is None:
                await self._retry_until_answered(episode.manifest, lambda: service_clients.check(service, context))
        except (CorruptSnapshotError, LostSnapshotError) as error:
            raise UnusableFilesError(QuarantineReason.DATABASE_MISMATCH, str(error)) from error
        except ServiceRefusalError as refusal:
            raise UnusableFilesError(QuarantineReason.DATABASE_MISMATCH, f"{service}: {refusal.detail}") from refusal

    async def _retry_until_answered(self, manifest: Manifest, send: Callable[[], Awaitable[T]]) -> T:
        """Return the reply of a service, retrying while it is unavailable."""
        refusals = 0
        while True:
            try:
                return await send()
            except InfrastructureError as fault:
                if isinstance(fault, ServiceRefusalError) and fault.code in _GATEWAY_ERROR_CODES:
                    raise GatewayRefusedError(str(fault)) from fault
                refusals += isinstance(fault, ServiceRefusalError)
                if isinstance(fault, ServiceRefusalError) and (
                    fault.code in _DATABASE_ERROR_CODES or refusals == _MAX_REFUSALS
                ):
                    raise
                _log.warning("waiting to restore the episode %s: %s", manifest.internal_id, fault)
                await asyncio.sleep(_RETRY_DELAY_S)


@contextmanager
def _scenario_errors(manifest: Manifest, problem: str) -> Iterator[None]:
    """Raise UnusableFilesError for any exception of the episode's scenario, and log it unless it states its reason.

    Errors of the machine, such as too many open files, are not those of a scenario: the start fails, without harm.
    """
    try:
        yield
    except (UnusableFilesError, GatewayRefusedError, OSError, MemoryError):
        raise
    except (GatewayError, ServiceRefusalError) as error:
        raise UnusableFilesError(QuarantineReason.TASK_CHANGED, f"{problem}: {error}") from error
    except Exception as error:
        _log.exception("episode %s: %s", manifest.internal_id, problem)
        raise UnusableFilesError(
            QuarantineReason.TASK_CHANGED, f"{problem}: {type(error).__name__}: {error}"
        ) from error
