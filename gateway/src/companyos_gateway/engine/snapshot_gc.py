"""Garbage collection of snapshot databases in the services that may be unreferenced."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from pathlib import Path

from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.snapshot_files import SnapshotFiles
from companyos_shared.wire.context import CallContext

ServiceSource = tuple[str, str]
"""Service and source."""


class UnreferencedSources:
    """Sources that may be unreferenced, and deleted snapshots whose files remain until their sources are deleted."""

    def __init__(self, service_clients: ServiceClients, files: SnapshotFiles) -> None:
        self._service_clients = service_clients
        self._files = files
        self._contexts: dict[ServiceSource, CallContext] = {}
        self._deleted_snapshots: dict[str, list[ServiceSource]] = {}
        self._markers: dict[Path, list[ServiceSource]] = {}

    def __bool__(self) -> bool:
        return bool(self._contexts or self._deleted_snapshots or self._markers)

    @property
    def sources(self) -> set[str]:
        """Every source that may be unreferenced."""
        return {source for _, source in self._contexts}

    def add(self, service: str, context: CallContext) -> None:
        """Add the source of a context."""
        self._contexts[service, context.source] = context

    def add_deleted_snapshot(self, snapshot_id: str, places: Iterable[ServiceSource]) -> None:
        """Add a deleted snapshot that referenced these sources."""
        self._deleted_snapshots[snapshot_id] = list(places)

    def add_marker(self, marker: Path, episode: str) -> None:
        """Add the marker of a failed snapshot; it remains until the episode's sources added so far are removed."""
        self._markers[marker] = [place for place, context in self._contexts.items() if context.episode == episode]

    def discard(self, places: Iterable[ServiceSource]) -> None:
        """Remove sources that a snapshot references now, or that are deleted."""
        for place in places:
            self._contexts.pop(place, None)

    async def forget(self, referenced: Collection[str]) -> None:
        """Delete the unreferenced sources in the services; unconfirmed deletions are repeated by the next call."""
        unreferenced = [
            (place, context) for place, context in self._contexts.items() if context.source not in referenced
        ]
        done = await asyncio.gather(
            *(self._service_clients.forget(place[0], context) for place, context in unreferenced)
        )
        self.discard(place for (place, _), is_forgotten in zip(unreferenced, done, strict=True) if is_forgotten)
        for snapshot_id, places in list(self._deleted_snapshots.items()):
            if all(place not in self._contexts or place[1] in referenced for place in places):
                self._files.delete_ended(snapshot_id)
                del self._deleted_snapshots[snapshot_id]
        for marker, places in list(self._markers.items()):
            if all(place not in self._contexts for place in places):
                marker.unlink(missing_ok=True)
                del self._markers[marker]
