"""The gateway's quarantine of unusable files; each item is a folder with a `reason.json`.

The databases of an item are in the quarantines of the services. An item is written before anything is moved into it,
and removed after everything was moved out of it, so a move that was interrupted by a crash can be repeated.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from companyos.schemas import QuarantineItem, QuarantineKind
from companyos_gateway.engine.checksums import add_checksum, verify_checksum
from companyos_gateway.engine.episode import VERSION
from companyos_gateway.engine.episode_files import MANIFEST, EpisodeFiles, write_file
from companyos_gateway.engine.errors import (
    EpisodeQuarantinedError,
    InfrastructureError,
    QuarantineConflictError,
    QuarantineReason,
    ServiceRefusalError,
    ServicesUnavailableError,
    UnknownQuarantineItemError,
    UnusableFilesError,
)
from companyos_gateway.engine.journal_format import read_label
from companyos_gateway.engine.manifest import decode_manifest
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.snapshot_files import SnapshotFiles, read_sources
from companyos_shared.private_files import FOLDER_MODE

REASON = "reason.json"
FOLDER = "quarantine"
FORMAT = 1

_ITEM = "item"

_EPISODE = "episode"
_REASON_TEMPORARY = "reason.tmp"
_UNKNOWN_ENTRY = "unknown-entry"
_ENTRY_NUMBER = re.compile(r"\.[0-9]+\Z")
_LABEL = re.compile(rb'"id":"([A-Za-z0-9._-]{1,128})"')
_log = logging.getLogger(__name__)

_Verb = Literal["restore", "remove"]


class Quarantine:
    """The items in quarantine; adds, restores and deletes them."""

    def __init__(
        self, folder: Path, service_clients: ServiceClients, files: EpisodeFiles, snapshot_files: SnapshotFiles
    ) -> None:
        self.folder = folder / FOLDER
        self.unknown_files: list[Path] = []
        """Unknown files in the gateway's folders, which are not modified."""
        self.has_label: Callable[[str], bool] = lambda _label: False
        """Returns whether an episode with that label is live."""
        self._service_clients = service_clients
        self._files = files
        self._snapshot_files = snapshot_files
        self._items: dict[str, QuarantineItem] = {}
        self._restored_sources: set[str] = set()
        """Sources of restored items, which the next start loads."""
        self.folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        for path in sorted(self.folder.iterdir()):
            if not path.is_dir():
                self.unknown_files.append(path)
            elif (path / REASON).exists() or _has_files(path):
                self._items[path.name] = _read_item(path)
            else:
                shutil.rmtree(path)  # a killed gateway has not written the reason

    def __len__(self) -> int:
        return len(self._items)

    def items(self) -> list[QuarantineItem]:
        """Return every item, the oldest first."""
        return sorted(self._items.values(), key=lambda item: (item.at, item.id))

    def get(self, item_id: str) -> QuarantineItem:
        """Return the item of that id; raises UnknownQuarantineItemError (404)."""
        if item_id not in self._items:
            raise UnknownQuarantineItemError(f"No item in quarantine has the id {item_id!r}.")
        return self._items[item_id]

    def find_episode(self, label: str) -> QuarantineItem | None:
        """Return the item of the episode with that label, or None if there is none."""
        return next((item for item in self._episodes() if item.episode_id == label), None)

    def check_episode(self, label: str, *, is_kept: bool = False) -> None:
        """Raise EpisodeQuarantinedError (410) if the episode with that label is in quarantine.

        The kept episode (`is_kept`) must not be replaced silently, so any item without a readable label counts as it.
        """
        item = self.find_episode(label)
        if item is None and is_kept:
            item = next((item for item in self._episodes() if item.episode_id is None), None)
        if item is not None:
            raise EpisodeQuarantinedError(
                f"{label!r} is in quarantine as {item.id}: {item.detail}. See `companyos quarantine --help`."
            )

    def find_snapshot(self, snapshot_id: str) -> QuarantineItem | None:
        """Return the item of a snapshot, or None if there is none."""
        return next((item for item in self._items.values() if item.snapshot_id == snapshot_id), None)

    def sources(self) -> set[str]:
        """Return every snapshot database that an item references, or that a restored one did.

        A live snapshot may reference the same one.
        """
        return self._restored_sources.union(*(item.sources.values() for item in self._items.values()))

    def report_unknown(self, path: Path) -> None:
        """Report an unknown file, which is not modified."""
        self.unknown_files.append(path)
        _log.warning("%s is not a file of this gateway; ignoring it", path)

    def add_episode(self, internal_id: str, error: UnusableFilesError) -> QuarantineItem:
        """Move an episode's folder into quarantine; its databases follow with `add_databases`."""
        label, sources = _read_identity(self._files.folder(internal_id))
        item = self._new(
            internal_id, QuarantineKind.EPISODE, error, episode_id=label, internal_id=internal_id, sources=sources
        )
        self._files.move_away(internal_id, self.folder / item.id / _EPISODE)
        return item

    def add_snapshot(self, snapshot_id: str, error: UnusableFilesError) -> QuarantineItem:
        """Move a snapshot into quarantine; its databases follow with `add_databases`."""
        path = self._snapshot_files.path(snapshot_id)
        sources = dict(read_sources(path.read_bytes()))
        name = f"snapshot-{snapshot_id}"
        item = self._new(name, QuarantineKind.SNAPSHOT, error, snapshot_id=snapshot_id, sources=sources)
        os.rename(path, self.folder / item.id / path.name)
        return item

    def get_or_create_item(self, internal_id: str | None) -> QuarantineItem:
        """Return the item for databases of an episode, or of an unknown episode if None; create it if there is none."""
        for item in self._items.values():
            if item.internal_id == internal_id and (internal_id or item.kind is QuarantineKind.DATABASES):
                return item
        error = UnusableFilesError(
            QuarantineReason.UNKNOWN_OWNER, "A service holds databases that no manifest and no snapshot names."
        )
        name = f"databases-{internal_id or 'unknown'}"
        return self._new(name, QuarantineKind.DATABASES, error, internal_id=internal_id)

    def add_databases(self, item_id: str, service: str, entries: Iterable[str]) -> None:
        """Record which entries of a service's quarantine belong to an item."""
        item = self._items[item_id]
        held = [*item.databases.get(service, []), *entries]
        self._write(item.model_copy(update={"databases": {**item.databases, service: sorted(set(held))}}))

    async def remove(self, item_id: str) -> None:
        """Delete an item permanently, here and in the services.

        Raises UnknownQuarantineItemError (404), QuarantineConflictError (409) if an earlier restore has moved some of
        its databases back, or ServicesUnavailableError (503) if some of its databases remain.
        """
        item = self.get(item_id)
        await self._move_databases(item, "remove")
        self.get(item_id)  # a concurrent call may have completed
        shutil.rmtree(self.folder / item_id)
        del self._items[item_id]
        _log.warning("%s was removed from quarantine", item_id)

    async def restore(self, item_id: str) -> QuarantineItem:
        """Move an item back to its original location; the next start restores it.

        Raises UnknownQuarantineItemError (404), QuarantineConflictError (409) or ServicesUnavailableError (503).
        """
        item = self.get(item_id)
        if item.episode_id is not None and self.has_label(item.episode_id):
            raise QuarantineConflictError(f"Another episode with the id {item.episode_id!r} is live; delete it first.")
        await self._move_databases(item, "restore")
        self.get(item_id)  # a concurrent call may have completed
        folder = self.folder / item_id
        try:
            if item.kind is QuarantineKind.EPISODE and item.internal_id is not None and (folder / _EPISODE).exists():
                self._files.move_back(item.internal_id, folder / _EPISODE)
            if item.kind is QuarantineKind.SNAPSHOT and item.snapshot_id is not None:
                path = self._snapshot_files.path(item.snapshot_id)
                if (folder / path.name).exists():
                    os.rename(folder / path.name, path)
        except OSError as error:
            raise QuarantineConflictError(f"The files cannot be moved back: {error.strerror}.") from error
        shutil.rmtree(folder)
        self._restored_sources.update(item.sources.values())
        del self._items[item_id]
        _log.warning("%s was restored from quarantine; the next start loads it", item_id)
        return item

    def _episodes(self) -> list[QuarantineItem]:
        return [item for item in self.items() if item.kind is QuarantineKind.EPISODE]

    async def _move_databases(self, item: QuarantineItem, verb: _Verb) -> None:
        """Delete or restore the entries of an item one by one; those that an earlier call has moved are skipped."""
        for service, entries in item.databases.items():
            try:
                for entry in entries:
                    await self._move_entry(service, entry, verb)
            except (InfrastructureError, KeyError) as error:
                raise ServicesUnavailableError(f"{service} failed to move databases of {item.id}: {error}") from error

    async def _move_entry(self, service: str, entry: str, verb: _Verb) -> None:
        try:
            await self._service_clients.move_quarantined(service, entry, verb)
        except ServiceRefusalError as refusal:
            if refusal.code != _UNKNOWN_ENTRY:
                raise
            inventory = await self._service_clients.inventory(service)
            names = {held.id for held in inventory.episodes} | {stored.source for stored in inventory.sources}
            is_restored = _ENTRY_NUMBER.sub("", entry) in names
            if is_restored is not (verb == "restore"):
                done = "restored" if is_restored else "deleted"
                raise QuarantineConflictError(f"{service} has already {done} {entry!r}.") from refusal

    def _new(self, name: str, kind: QuarantineKind, error: UnusableFilesError, **fields: Any) -> QuarantineItem:
        item = QuarantineItem(
            id=self._free_name(name),
            kind=kind,
            reason=error.reason.value,
            detail=str(error),
            version=VERSION,
            at=datetime.now(UTC),  # noqa: TID251  # wall-clock time, not simulated time
            **fields,
        )
        (self.folder / item.id).mkdir(FOLDER_MODE, exist_ok=True)
        self._write(item)
        _log.error("moving %s %s to quarantine (%s): %s", kind, item.episode_id or name, self.folder / item.id, error)
        return item

    def _free_name(self, name: str) -> str:
        """Return an unused name; the name of an item into which a killed gateway moved no files is reused."""
        names = (name if number == 1 else f"{name}.{number}" for number in count(1))
        return next(free for free in names if not _has_files(self.folder / free))

    def _write(self, item: QuarantineItem) -> None:
        path = self.folder / item.id / REASON
        temporary = path.with_name(_REASON_TEMPORARY)
        write_file(temporary, add_checksum(_ITEM, FORMAT, item.model_dump_json().encode())[0], durable=True)
        os.replace(temporary, path)
        self._items[item.id] = item


def _has_files(folder: Path) -> bool:
    return folder.exists() and any(path.name not in (REASON, _REASON_TEMPORARY) for path in folder.iterdir())


def _read_item(folder: Path) -> QuarantineItem:
    """Return the item of a folder; one with an unreadable reason is identified by its name."""
    try:
        content, _ = verify_checksum(_ITEM, FORMAT, (folder / REASON).read_bytes())
        return QuarantineItem.model_validate_json(content).model_copy(update={"id": folder.name})
    except (OSError, ValidationError, UnusableFilesError) as error:
        is_snapshot = folder.name.startswith("snapshot-")
        kind = QuarantineKind.SNAPSHOT if is_snapshot else QuarantineKind.EPISODE
        return QuarantineItem.model_construct(
            id=folder.name,
            kind=kind,
            internal_id=None if is_snapshot else folder.name,
            snapshot_id=folder.name.removeprefix("snapshot-") if is_snapshot else None,
            reason=QuarantineReason.DAMAGED.value,
            detail=f"{REASON} cannot be read: {type(error).__name__}: {str(error)[:200]}",
            version=VERSION,
            at=datetime.fromtimestamp(folder.stat().st_mtime, UTC),
            databases={},
            sources={},
        )


def _read_identity(folder: Path) -> tuple[str | None, dict[str, str]]:
    """Return label and snapshot databases of an episode, as far as they can be read from its manifest or journals."""
    with suppress(OSError, UnusableFilesError):
        manifest, _ = decode_manifest((folder / MANIFEST).read_bytes())
        return manifest.id, dict(manifest.snapshot_sources())
    for path in sorted(folder.glob("*.jsonl")):
        with suppress(OSError):
            label = read_label(path.read_bytes())
            if label is not None:
                return label, {}
    with suppress(OSError):
        if (match := _LABEL.search((folder / MANIFEST).read_bytes())) is not None:
            return match[1].decode(), {}
    return None, {}
