"""The start of a gateway: it finds its episodes in manifests and journals, and holds the services against them.

Only what is positively over is deleted. What this version cannot go on from, and what a service holds that nothing
names, is moved to quarantine.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from companyos.contract import Outcome
from companyos_gateway.episode.environment import Stage
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import (
    GatewayProblem,
    HouseFault,
    Reason,
    ServiceRefusalError,
    SnapshotCorrupt,
    SnapshotLost,
    UnusableError,
)
from companyos_gateway.episode.files import EpisodeFiles, FoundEpisodes
from companyos_gateway.episode.inventory import Inventory, Reconciliation
from companyos_gateway.episode.journal import entries
from companyos_gateway.episode.manifest import Manifest, State
from companyos_gateway.episode.progress import Progress, fold
from companyos_gateway.episode.quarantine import Quarantine
from companyos_gateway.episode.snapshots import Snapshots
from companyos_gateway.episode.task import Task
from companyos_shared.wire.context import Actor

_AT_ONCE = 16
_PAUSE_S = 0.5
_MOST_REFUSALS = 10
_CORRUPT = frozenset({"episode-corrupt", "episode-outdated", "episode-dropped", "stale-epoch"})
"""What a service answers where its database is not the one that the journal tells of."""

_ABOUT_THE_GATEWAY = frozenset({"stale-generation", "lease-held", "call-expired", "not-signed"})
"""What a service answers where it refuses the gateway, whatever the episode."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class GatewayRefusedError(Exception):
    """A service refuses this gateway, so nothing can be said of its episodes, and the start ends."""


@dataclass(slots=True)
class Recovery:
    """Finds everything again that the files tell of."""

    stage: Stage
    files: EpisodeFiles
    snapshots: Snapshots
    quarantine: Quarantine

    async def run(self) -> int:
        """Take in every episode, each with its open step completed; return how many there are."""
        inventory = await Inventory.read(self.stage.cluster)
        found, found_snapshots = self.files.find(), self.snapshots.find()
        for path in (*found.unknown, *found_snapshots.unknown):
            self.quarantine.report_unknown(path)
        for internal_id, error in found.unusable.items():
            self.quarantine.add_episode(internal_id, error)
        await self._take_in(found, inventory)
        self.snapshots.look_after(self.stage.store)
        kept = {manifest.internal_id for manifest, _ in found.manifests if manifest.state is State.KEPT}
        reconciliation = Reconciliation(inventory, self.stage, self.snapshots, self.quarantine, kept)
        await reconciliation.run(found.ended, found_snapshots.pending)
        for note in found.notes:
            note.unlink()
        return len(self.stage.store)

    async def _take_in(self, found: FoundEpisodes, inventory: Inventory) -> None:
        places = asyncio.Semaphore(_AT_ONCE)
        labels, recovering = set[str](), []

        async def take_in(manifest: Manifest, checksum: str) -> None:
            async with places:
                await self._recover_or_quarantine(manifest, checksum, inventory)

        for manifest, checksum in found.manifests:
            if manifest.state is State.KEPT:
                self.snapshots.hold(manifest)
            elif manifest.id in labels:
                error = UnusableError(Reason.DUPLICATE, f"another live episode has the id {manifest.id!r}")
                self.quarantine.add_episode(manifest.internal_id, error)
            else:
                labels.add(manifest.id)
                recovering.append(take_in(manifest, checksum))
        await asyncio.gather(*recovering)

    async def _recover_or_quarantine(self, manifest: Manifest, checksum: str, inventory: Inventory) -> None:
        try:
            await self._recover(manifest, checksum, inventory)
        except UnusableError as error:
            self.quarantine.add_episode(manifest.internal_id, error)
        else:
            self.files.remove_other_epochs(manifest)

    async def _recover(self, manifest: Manifest, checksum: str, inventory: Inventory) -> None:
        """Take in an episode; raises UnusableError."""
        journal = self.files.journal(manifest, checksum)
        payloads = journal.recover()
        task = await self._planned(manifest)
        progress = Progress.start(task, manifest.options)
        progress.first_step = manifest.first_step
        open_step = fold(progress, task, entries(payloads))
        progress.touched.update(task.sources)
        inventory.check(manifest, {service for service in task.sources if progress.has_written(service)})
        found = Episode.of(manifest, task, progress, journal, token="")
        is_settled = open_step is None and progress.outcome is not Outcome.INFRA_ERROR
        await self._check_databases(found, inventory, compares=is_settled)
        episode = self.stage.store.adopt(manifest, task, progress, journal)
        if open_step is None:
            return
        async with episode.turn():
            await self.stage.take(episode, open_step)
        _log.info("step %d of the episode %s was completed", open_step.step, episode.internal_id)
        try:
            await self._check_databases(episode, inventory, compares=episode.outcome is not Outcome.INFRA_ERROR)
        except UnusableError:
            self.stage.store.disown(episode)
            raise

    async def _planned(self, manifest: Manifest) -> Task:
        """Plan the task of an episode again; raises UnusableError where it is not the same."""
        try:
            task = await self._waited_for(manifest, lambda: self.stage.shelf.task(manifest.task))
        except (GatewayProblem, ServiceRefusalError) as problem:
            raise UnusableError(Reason.TASK_CHANGED, f"the task cannot be planned: {problem}") from problem
        changed = sorted(
            service
            for service in manifest.planned.keys() | task.sources.keys()
            if manifest.planned.get(service) != task.sources.get(service)
        )
        if changed:
            detail = f"{manifest.task.scenario} plans other documents for {', '.join(changed)} than when it began"
            raise UnusableError(Reason.TASK_CHANGED, detail)
        return task

    async def _check_databases(self, episode: Episode, inventory: Inventory, *, compares: bool) -> None:
        """Hold the databases of an episode against its journal; raises UnusableError where they disagree.

        A database counts even where the journal names no write to it: the journal may have lost lines that were not
        synced. An episode that ended as infra_error may have one step more in a database than in its journal.
        """
        manifest = episode.manifest
        held = {name: inventory.epochs(name, manifest.internal_id) for name in episode.sources}
        await asyncio.gather(
            *(
                self._check_database(episode, name, compares, has_database=manifest.epoch in (held[name] or ()))
                for name in sorted(episode.sources)
            )
        )

    async def _check_database(self, episode: Episode, service: str, compares: bool, *, has_database: bool) -> None:
        context, document = episode.context(service, Actor.TRAINER), episode.document(service)
        cluster = self.stage.cluster
        try:
            if has_database or episode.progress.has_written(service):
                reply = await self._waited_for(episode.manifest, lambda: cluster.digest(service, context, document))
                if compares and reply.digest != episode.evidence.fold_digest(service):
                    raise UnusableError(Reason.DATABASES, f"the database of {service} is not what the journal folds to")
            elif document is None:
                await self._waited_for(episode.manifest, lambda: cluster.check(service, context))
        except (SnapshotCorrupt, SnapshotLost) as error:
            raise UnusableError(Reason.DATABASES, str(error)) from error
        except ServiceRefusalError as refusal:
            raise UnusableError(Reason.DATABASES, f"{service}: {refusal.detail}") from refusal

    async def _waited_for(self, manifest: Manifest, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what a service answers; one that is away for a while is waited for."""
        refusals = 0
        while True:
            try:
                return await ask()
            except HouseFault as fault:
                if isinstance(fault, ServiceRefusalError) and fault.code in _ABOUT_THE_GATEWAY:
                    raise GatewayRefusedError(str(fault)) from fault
                refusals += isinstance(fault, ServiceRefusalError)
                if isinstance(fault, ServiceRefusalError) and (fault.code in _CORRUPT or refusals == _MOST_REFUSALS):
                    raise
                _log.warning("the episode %s waits: %s", manifest.internal_id, fault)
                await asyncio.sleep(_PAUSE_S)
