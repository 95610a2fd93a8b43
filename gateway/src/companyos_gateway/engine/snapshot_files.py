"""Format and storage of snapshot files. The id of a snapshot is the digest of its bytes."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos.contract import SnapshotInfo
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.episode_files import JOURNAL_SUFFIX, storage_full_error, write_file
from companyos_gateway.engine.errors import QuarantineReason, UnusableFilesError
from companyos_gateway.engine.manifest import Manifest
from companyos_shared.failpoints import failpoint
from companyos_shared.private_files import FOLDER_MODE
from companyos_shared.wire.context import EPISODE_PATTERN

ENDED_SUFFIX = ".ended"
PENDING_SUFFIX = ".pending"

_TEMPORARY_SUFFIX = ".tmp"
_ID_LENGTH = 32
_NONCE_BYTES = 16
_SNAPSHOT_ID = re.compile(r"[0-9a-f]{32}")


class PendingSnapshot(BaseModel):
    """Marker that the services store databases of an epoch for a snapshot that is not written yet."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    episode: str = Field(pattern=EPISODE_PATTERN)
    epoch: int = Field(ge=1)
    nonce: str


@dataclass(slots=True)
class SnapshotScan:
    """Result of scanning the snapshot folder: ids, oldest first, and markers of pending snapshots."""

    ids: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    pending: dict[Path, PendingSnapshot] = field(default_factory=dict)
    unknown: list[Path] = field(default_factory=list)


class SnapshotFiles:
    """The folder `snapshots` in the gateway's folder: `<id>.jsonl`, and `<id>.ended` for deleted snapshots."""

    def __init__(self, folder: Path) -> None:
        self._snapshots = folder / "snapshots"
        self._snapshots.mkdir(FOLDER_MODE, parents=True, exist_ok=True)

    def begin(self, episode: str, epoch: int) -> Path:
        """Write the marker of a pending snapshot of an epoch and return its path; raises StorageFullError (507)."""
        pending = PendingSnapshot(episode=episode, epoch=epoch, nonce=secrets.token_hex(_NONCE_BYTES))
        content = pending.model_dump_json().encode()
        marker = self._snapshots / f"{compute_snapshot_id(content)}{PENDING_SUFFIX}"
        temporary = marker.with_suffix(_TEMPORARY_SUFFIX)
        try:
            write_file(temporary, content)
            os.replace(temporary, marker)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise storage_full_error(error) from error
        return marker

    def write(self, content: bytes) -> str:
        """Write a snapshot and return its id; raises StorageFullError (507)."""
        snapshot_id = compute_snapshot_id(content)
        path = self.path(snapshot_id)
        temporary = path.with_suffix(_TEMPORARY_SUFFIX)
        try:
            write_file(temporary, content, durable=True)
            failpoint("gateway.snapshot.before")
            os.replace(temporary, path)
            self._sync()
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise storage_full_error(error) from error
        failpoint("gateway.snapshot.after")
        return snapshot_id

    def read(self, snapshot_id: str) -> bytes | None:
        """Return the bytes of a snapshot, or None if it does not exist."""
        try:
            return self.path(snapshot_id).read_bytes()
        except FileNotFoundError:
            return None

    def mark_ended(self, snapshot_id: str) -> None:
        """Mark a snapshot as deleted; raises StorageFullError (507), and the snapshot then still exists."""
        path = self.path(snapshot_id)
        try:
            path.replace(path.with_suffix(ENDED_SUFFIX))
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_full_error(error) from error

    def read_ended(self, snapshot_id: str) -> bytes:
        """Return the bytes of a deleted snapshot; raises OSError."""
        return self.path(snapshot_id).with_suffix(ENDED_SUFFIX).read_bytes()

    def delete_ended(self, snapshot_id: str) -> None:
        """Remove the file of a deleted snapshot, once no service has a database that only it referenced."""
        with suppress(OSError):
            self.path(snapshot_id).with_suffix(ENDED_SUFFIX).unlink()

    def scan(self) -> SnapshotScan:
        """Return the contents of the folder; files that were never committed are removed."""
        result, modified_ns = SnapshotScan(), dict[str, int]()
        for path in sorted(self._snapshots.iterdir()):
            if not _SNAPSHOT_ID.fullmatch(path.stem):
                result.unknown.append(path)
            elif path.suffix == JOURNAL_SUFFIX:
                modified_ns[path.stem] = path.stat().st_mtime_ns
            elif path.suffix == ENDED_SUFFIX:
                result.ended.append(path.stem)
            elif path.suffix == _TEMPORARY_SUFFIX:
                path.unlink(missing_ok=True)
            elif path.suffix == PENDING_SUFFIX and (marker := _read_marker(path)) is not None:
                result.pending[path] = marker
            else:
                result.unknown.append(path)
        result.ids = sorted(modified_ns, key=lambda name: (modified_ns[name], name))
        return result

    def path(self, snapshot_id: str) -> Path:
        """Return the path of a snapshot."""
        return self._snapshots / f"{snapshot_id}{JOURNAL_SUFFIX}"

    def _sync(self) -> None:
        """Sync the folder's directory entries to the disk."""
        descriptor = os.open(self._snapshots, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def compute_snapshot_id(content: bytes) -> str:
    """Return the id of a snapshot with these bytes."""
    return hashlib.sha256(content).hexdigest()[:_ID_LENGTH]


def _read_marker(path: Path) -> PendingSnapshot | None:
    """Return the content of a marker, or None if its bytes do not match its name or cannot be parsed."""
    content = path.read_bytes()
    if compute_snapshot_id(content) != path.stem:
        return None
    try:
        return PendingSnapshot.model_validate_json(content)
    except ValidationError:
        return None


FORMAT = 2


class SnapshotHeader(BaseModel):
    """The first line of a snapshot."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = FORMAT
    snapshot: SnapshotInfo
    manifest: Manifest

    def info(self, snapshot_id: str) -> SnapshotInfo:
        """Return the description of the snapshot, with its id."""
        return self.snapshot.model_copy(update={"id": snapshot_id})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A decoded snapshot."""

    header: SnapshotHeader
    payloads: list[bytes]


def build_header(episode: Episode, sources: dict[str, str]) -> SnapshotHeader:
    """Return the header of a snapshot of the episode's current state, whose databases are these sources."""
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
    return SnapshotHeader(snapshot=info, manifest=episode.manifest.model_copy(update={"sources": sources}))


def encode_snapshot(header: SnapshotHeader, payloads: Iterable[bytes]) -> bytes:
    """Return the bytes of a snapshot."""
    first = header.model_dump_json(exclude={"manifest": {"options": {"resume", "injected_state"}}}).encode()
    return b"".join(line + b"\n" for line in (first, *payloads))


def decode_snapshot(snapshot_id: str, content: bytes) -> Snapshot:
    """Return the snapshot of that id; raises UnusableFilesError."""
    if compute_snapshot_id(content) != snapshot_id:
        raise UnusableFilesError(QuarantineReason.DAMAGED, f"The file of {snapshot_id} fails its checksum.")
    first, *payloads = content.splitlines()
    try:
        header = SnapshotHeader.model_validate_json(first)
        if header.format != FORMAT:
            raise UnusableFilesError(
                QuarantineReason.FORMAT, f"{snapshot_id} has format {header.format}, this version reads {FORMAT}"
            )
    except ValidationError as error:
        raise UnusableFilesError(QuarantineReason.FORMAT, f"{snapshot_id} was written by another version.") from error
    return Snapshot(header, payloads)


def read_sources(content: bytes) -> list[tuple[str, str]]:
    """Return service and source of a damaged snapshot's databases, or an empty list if its header cannot be parsed."""
    try:
        return SnapshotHeader.model_validate_json(content.partition(b"\n")[0]).manifest.snapshot_sources()
    except ValidationError:
        return []
