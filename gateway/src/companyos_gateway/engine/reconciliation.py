"""Compares the databases of the services with the gateway's files."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode_files import is_internal_id
from companyos_gateway.engine.episode_removal import control_context
from companyos_gateway.engine.errors import InfrastructureError, QuarantineReason, UnusableFilesError
from companyos_gateway.engine.manifest import Manifest
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.snapshot_files import PendingSnapshot
from companyos_gateway.engine.snapshots import Snapshots
from companyos_shared.wire.control import InventoryReply, QuarantineRequest

_MAX_ATTEMPTS = 20
_RETRY_DELAY_S = 0.5
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Inventory:
    """Inventories of the services at start, without those of services that did not respond."""

    services: Mapping[str, InventoryReply]

    @classmethod
    async def read(cls, service_clients: ServiceClients) -> Inventory:
        """Read the inventory of every service."""
        replies = await asyncio.gather(*(_read(service_clients, service) for service in service_clients.clients))
        return cls(
            {
                service: reply
                for service, reply in zip(service_clients.clients, replies, strict=True)
                if reply is not None
            }
        )

    def epochs(self, service: str, internal_id: str) -> list[int] | None:
        """Return the epochs of an episode that a service has, or None if unknown."""
        if service not in self.services:
            return None
        return next((held.epochs for held in self.services[service].episodes if held.id == internal_id), [])

    def check(self, manifest: Manifest, written: Collection[str]) -> None:
        """Raise UnusableFilesError if a service has a newer epoch, or lacks the database of a written one.

        `written` contains the services that were written to in the manifest's epoch.
        """
        for service in manifest.sources:
            epochs = self.epochs(service, manifest.internal_id)
            if epochs is None:
                continue
            if max(epochs, default=0) > manifest.epoch:
                detail = f"{service} holds epoch {max(epochs)}, the manifest is of epoch {manifest.epoch}"
                raise UnusableFilesError(QuarantineReason.DATABASE_MISMATCH, detail)
            if service in written and manifest.epoch not in epochs:
                raise UnusableFilesError(
                    QuarantineReason.DATABASE_MISMATCH, f"{service} has no database of epoch {manifest.epoch}"
                )


@dataclass(slots=True)
class _UnreferencedDatabases:
    """Databases in one service that belong to one item in quarantine."""

    episodes: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Reconciliation:
    """Deletes the data of ended episodes in the services, and moves unreferenced databases to quarantine."""

    inventory: Inventory
    engine: EpisodeEngine
    snapshots: Snapshots
    quarantine: Quarantine
    kept: Collection[str]
    """Internal ids of ended episodes whose databases are kept."""

    async def run(self, ended: Mapping[str, Manifest | None], pending: Mapping[Path, PendingSnapshot]) -> None:
        """Compare every service with the files. `ended` contains ended episodes by internal id."""
        for internal_id, manifest in ended.items():
            for service, source in [] if manifest is None else manifest.snapshot_sources():
                self.snapshots.mark_unreferenced(service, control_context(internal_id, 1, source))
        for service, reply in self.inventory.services.items():
            await self._reconcile(
                service, reply, ended, {(marker.episode, marker.epoch) for marker in pending.values()}
            )
        for internal_id in ended:
            self.engine.store.remover.drop(internal_id, self._holders(internal_id))
        await self.engine.store.remover.flush()
        await self.snapshots.forget_unreferenced()
        if not self.snapshots.unreferenced():
            for marker in pending:
                marker.unlink(missing_ok=True)

    def _holders(self, internal_id: str) -> list[str]:
        """Return the services that have an episode or whose inventory is unknown."""
        return [name for name in self.engine.service_clients.clients if self.inventory.epochs(name, internal_id) != []]

    async def _reconcile(
        self, service: str, reply: InventoryReply, ended: Collection[str], pending: Collection[tuple[str, int]]
    ) -> None:
        known_ids = {*ended, *self.kept, *(episode.internal_id for episode in self.engine.store)}
        orphaned: defaultdict[str, _UnreferencedDatabases] = defaultdict(_UnreferencedDatabases)
        for held in reply.episodes:
            if held.id in known_ids:
                continue
            if is_internal_id(held.id):
                orphaned[self.quarantine.get_or_create_item(held.id).id].episodes.append(held.id)
            else:
                self.quarantine.report_unknown(Path(service) / "episodes" / held.id)
        referenced = self.snapshots.sources() | self.snapshots.unreferenced()
        for stored in reply.sources:
            if stored.source in referenced:
                continue
            if stored.episode is not None and stored.epoch is not None and (stored.episode, stored.epoch) in pending:
                self.snapshots.mark_unreferenced(service, control_context(stored.episode, stored.epoch, stored.source))
            else:
                orphaned[self.quarantine.get_or_create_item(stored.episode).id].sources.append(stored.source)
        for item_id, databases in orphaned.items():
            await self._quarantine_databases(service, item_id, databases)
        await self._record_orphaned_entries(service)

    async def _quarantine_databases(self, service: str, item_id: str, databases: _UnreferencedDatabases) -> None:
        detail = self.quarantine.get(item_id).detail
        request = QuarantineRequest(episodes=databases.episodes, sources=databases.sources, reason=detail[:1000])
        try:
            moved = await self.engine.service_clients.quarantine(service, request)
        except InfrastructureError as fault:
            _log.error("%s failed to move the databases of %s to quarantine: %s", service, item_id, fault)
        else:
            self.quarantine.add_databases(item_id, service, [entry.entry for entry in moved.entries])

    async def _record_orphaned_entries(self, service: str) -> None:
        """Record entries of a service's quarantine that a killed gateway did not record in an item."""
        try:
            reply = await self.engine.service_clients.quarantined(service)
        except InfrastructureError as fault:
            _log.error("the quarantine of %s cannot be read: %s", service, fault)
            return
        recorded = {entry for item in self.quarantine.items() for entry in item.databases.get(service, ())}
        for entry in reply.entries:
            if entry.entry not in recorded:
                item = self.quarantine.get_or_create_item(entry.episode)
                self.quarantine.add_databases(item.id, service, [entry.entry])


async def _read(service_clients: ServiceClients, service: str) -> InventoryReply | None:
    for _ in range(_MAX_ATTEMPTS):
        try:
            return await service_clients.inventory(service)
        except InfrastructureError as fault:
            _log.warning("the inventory of %s cannot be read: %s", service, fault)
            await asyncio.sleep(_RETRY_DELAY_S)
    _log.error("%s returned no inventory; nothing in it is deleted or moved", service)
    return None
