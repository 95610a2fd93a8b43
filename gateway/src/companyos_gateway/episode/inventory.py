"""What the services hold, against what the gateway's files name."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.drops import context_about
from companyos_gateway.episode.environment import Stage
from companyos_gateway.episode.errors import HouseFault, Reason, UnusableError
from companyos_gateway.episode.files import is_internal_id
from companyos_gateway.episode.manifest import Manifest
from companyos_gateway.episode.quarantine import Quarantine
from companyos_gateway.episode.snapshot_files import PendingSnapshot
from companyos_gateway.episode.snapshots import Snapshots
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import InventoryReply, QuarantineRequest

_TRIES = 20
_PAUSE_S = 0.5
_NO_SOURCE = "0" * 64
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What each service held at the start; a service that did not answer is missing."""

    services: Mapping[str, InventoryReply]

    @classmethod
    async def read(cls, cluster: Cluster) -> Inventory:
        """Read the inventory of every service."""
        found = await asyncio.gather(*(_read(cluster, service) for service in cluster.links))
        return cls({service: reply for service, reply in zip(cluster.links, found, strict=True) if reply is not None})

    def epochs(self, service: str, internal_id: str) -> list[int] | None:
        """Return the epochs of an episode that a service holds, None where nobody knows."""
        if service not in self.services:
            return None
        return next((held.epochs for held in self.services[service].episodes if held.id == internal_id), [])

    def check(self, manifest: Manifest, written: Collection[str]) -> None:
        """Raise UnusableError where a service holds a newer epoch, or lacks the database of one that was written to."""
        for service in manifest.sources:
            epochs = self.epochs(service, manifest.internal_id)
            if epochs is None:
                continue
            if max(epochs, default=0) > manifest.epoch:
                detail = f"{service} holds epoch {max(epochs)}, the manifest is of epoch {manifest.epoch}"
                raise UnusableError(Reason.DATABASES, detail)
            if service in written and manifest.epoch not in epochs:
                raise UnusableError(Reason.DATABASES, f"{service} has no database of epoch {manifest.epoch}")


@dataclass(slots=True)
class _Unexplained:
    """What one service holds that belongs to one item of the quarantine."""

    episodes: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Reconciliation:
    """Deletes in the services what is over, and moves to quarantine what nothing explains."""

    inventory: Inventory
    stage: Stage
    snapshots: Snapshots
    quarantine: Quarantine
    kept: Collection[str]
    """Internal ids of episodes that are over while their databases are kept."""

    async def run(self, ended: Mapping[str, Manifest | None], pending: Mapping[Path, PendingSnapshot]) -> None:
        """Hold every service against the files. `ended` are episodes that are over, by internal id."""
        for internal_id, manifest in ended.items():
            for service, source in [] if manifest is None else manifest.kept_sources():
                self.snapshots.loosen(service, context_about(internal_id, 1, source))
        for service, reply in self.inventory.services.items():
            await self._reconcile(service, reply, ended, {(note.episode, note.epoch) for note in pending.values()})
        for internal_id in ended:
            self.stage.store.drops.drop_ended(internal_id, self._holders(internal_id))
        await self.stage.store.drops.wait()
        await self.snapshots.forget_unnamed()
        if not self.snapshots.loose():
            for note in pending:
                note.unlink(missing_ok=True)

    def _holders(self, internal_id: str) -> dict[str, CallContext]:
        """Return the services that hold an episode or did not say, each with the context of a call about it."""
        context = context_about(internal_id, 1, _NO_SOURCE)
        return {name: context for name in self.stage.cluster.links if self.inventory.epochs(name, internal_id) != []}

    async def _reconcile(
        self, service: str, reply: InventoryReply, ended: Collection[str], pending: Collection[tuple[str, int]]
    ) -> None:
        explained = {*ended, *self.kept, *(episode.internal_id for episode in self.stage.store)}
        unexplained: defaultdict[str, _Unexplained] = defaultdict(_Unexplained)
        for held in reply.episodes:
            if held.id in explained:
                continue
            if is_internal_id(held.id):
                unexplained[self.quarantine.item_of(held.id).id].episodes.append(held.id)
            else:
                self.quarantine.report_unknown(Path(service) / "episodes" / held.id)
        accounted_for = self.snapshots.sources() | self.snapshots.loose()
        for kept in reply.sources:
            if kept.source in accounted_for:
                continue
            if kept.episode is not None and kept.epoch is not None and (kept.episode, kept.epoch) in pending:
                self.snapshots.loosen(service, context_about(kept.episode, kept.epoch, kept.source))
            else:
                unexplained[self.quarantine.item_of(kept.episode).id].sources.append(kept.source)
        for item_id, found in unexplained.items():
            await self._move(service, item_id, found)
        await self._link_entries(service)

    async def _move(self, service: str, item_id: str, found: _Unexplained) -> None:
        detail = self.quarantine.get(item_id).detail
        asked = QuarantineRequest(episodes=found.episodes, sources=found.sources, reason=detail[:1000])
        try:
            moved = await self.stage.cluster.quarantine(service, asked)
        except HouseFault as fault:
            _log.error("%s did not move the databases of %s to quarantine: %s", service, item_id, fault)
        else:
            self.quarantine.add_databases(item_id, service, [entry.entry for entry in moved.entries])

    async def _link_entries(self, service: str) -> None:
        """Record entries of a service's quarantine that belong to no item: a gateway was killed before it did."""
        try:
            reply = await self.stage.cluster.quarantined(service)
        except HouseFault as fault:
            _log.error("the quarantine of %s cannot be read: %s", service, fault)
            return
        recorded = {entry for item in self.quarantine.items() for entry in item.databases.get(service, ())}
        for found in reply.entries:
            if found.entry not in recorded:
                item = self.quarantine.item_of(found.episode)
                self.quarantine.add_databases(item.id, service, [found.entry])


async def _read(cluster: Cluster, service: str) -> InventoryReply | None:
    for _ in range(_TRIES):
        try:
            return await cluster.inventory(service)
        except HouseFault as fault:
            _log.warning("the inventory of %s cannot be read: %s", service, fault)
            await asyncio.sleep(_PAUSE_S)
    _log.error("%s gives no inventory: nothing of it is deleted or moved", service)
    return None
