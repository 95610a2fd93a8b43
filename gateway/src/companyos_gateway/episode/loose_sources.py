"""Databases that services keep for snapshots, from when nothing may name them until they are forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from pathlib import Path

from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.snapshot_files import SnapshotFiles
from companyos_shared.wire.context import CallContext

Place = tuple[str, str]
"""Service and source."""


class LooseSources:
    """Sources that may be named by nothing, and deleted snapshots whose files stay until theirs are forgotten."""

    def __init__(self, cluster: Cluster, files: SnapshotFiles) -> None:
        self._cluster = cluster
        self._files = files
        self._contexts: dict[Place, CallContext] = {}
        self._ended: dict[str, list[Place]] = {}
        self._notes: dict[Path, list[Place]] = {}

    def __bool__(self) -> bool:
        return bool(self._contexts or self._ended or self._notes)

    @property
    def sources(self) -> set[str]:
        """Every source that may be named by nothing."""
        return {source for _, source in self._contexts}

    def add(self, service: str, context: CallContext) -> None:
        """Add the source of a context."""
        self._contexts[service, context.source] = context

    def add_ended(self, snapshot_id: str, places: Iterable[Place]) -> None:
        """Add a deleted snapshot that named these places."""
        self._ended[snapshot_id] = list(places)

    def add_note(self, note: Path, episode: str) -> None:
        """Add the note of a snapshot that failed; it stays until what the services keep of the episode is forgotten."""
        self._notes[note] = [place for place, context in self._contexts.items() if context.episode == episode]

    def discard(self, places: Iterable[Place]) -> None:
        """Leave out what a snapshot names now."""
        for place in places:
            self._contexts.pop(place, None)

    async def forget(self, named: Collection[str]) -> None:
        """Let the services forget what is not named; what one does not confirm stays for the next time."""
        unnamed = [(place, context) for place, context in self._contexts.items() if context.source not in named]
        done = await asyncio.gather(*(self._cluster.forget(place[0], context) for place, context in unnamed))
        self.discard(place for (place, _), is_forgotten in zip(unnamed, done, strict=True) if is_forgotten)
        for snapshot_id, places in list(self._ended.items()):
            if all(place not in self._contexts or place[1] in named for place in places):
                self._files.forget(snapshot_id)
                del self._ended[snapshot_id]
        for note, places in list(self._notes.items()):
            if all(place not in self._contexts for place in places):
                note.unlink(missing_ok=True)
                del self._notes[note]
