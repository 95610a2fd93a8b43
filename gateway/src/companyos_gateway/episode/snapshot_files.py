"""The gateway's files of snapshots. A snapshot's id is the digest of its bytes; it is on disk before it counts."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos_gateway.episode.files import FOLDER_MODE, JOURNAL_SUFFIX, no_room, write_file
from companyos_shared.failpoints import failpoint
from companyos_shared.wire.context import EPISODE_PATTERN

ENDED_SUFFIX = ".ended"
PENDING_SUFFIX = ".pending"

_ASIDE = ".tmp"
_ID_LENGTH = 32
_NOTE_BYTES = 16
_NAME = re.compile(r"[0-9a-f]{32}")


class PendingSnapshot(BaseModel):
    """A note that the services keep databases of an epoch for a snapshot that is not written yet."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    episode: str = Field(pattern=EPISODE_PATTERN)
    epoch: int = Field(ge=1)
    nonce: str


@dataclass(slots=True)
class FoundSnapshots:
    """What a start finds in the folder of snapshots: ids, the oldest first, and notes of what was pending."""

    ids: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    pending: dict[Path, PendingSnapshot] = field(default_factory=dict)
    unknown: list[Path] = field(default_factory=list)


class SnapshotFiles:
    """The folder `snapshots` below the gateway's folder: `<id>.jsonl`, and `<id>.ended` of deleted ones."""

    def __init__(self, folder: Path) -> None:
        self._snapshots = folder / "snapshots"
        self._snapshots.mkdir(FOLDER_MODE, parents=True, exist_ok=True)

    def begin(self, episode: str, epoch: int) -> Path:
        """Write a note that services are about to keep databases of an epoch, and return it; raises StorageFull."""
        pending = PendingSnapshot(episode=episode, epoch=epoch, nonce=secrets.token_hex(_NOTE_BYTES))
        content = pending.model_dump_json().encode()
        note = self._snapshots / f"{snapshot_id_of(content)}{PENDING_SUFFIX}"
        try:
            write_file(note, content)
        except OSError as error:
            with suppress(OSError):
                note.unlink()
            raise no_room(error) from error
        return note

    def keep(self, content: bytes) -> str:
        """Write a snapshot and return its id; raises StorageFull (507)."""
        snapshot_id = snapshot_id_of(content)
        path = self.path(snapshot_id)
        aside = path.with_suffix(_ASIDE)
        try:
            write_file(aside, content, durable=True)
            failpoint("gateway.snapshot.before")
            os.replace(aside, path)
            self._sync()
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            raise no_room(error) from error
        failpoint("gateway.snapshot.after")
        return snapshot_id

    def read(self, snapshot_id: str) -> bytes | None:
        """Return the bytes of a snapshot, None where there is none."""
        try:
            return self.path(snapshot_id).read_bytes()
        except FileNotFoundError:
            return None

    def end(self, snapshot_id: str) -> None:
        """Mark a snapshot as deleted; raises StorageFull (507), and it is then there as before."""
        path = self.path(snapshot_id)
        try:
            path.replace(path.with_suffix(ENDED_SUFFIX))
        except FileNotFoundError:
            return
        except OSError as error:
            raise no_room(error) from error

    def read_ended(self, snapshot_id: str) -> bytes:
        """Return the bytes of a deleted snapshot; raises OSError."""
        return self.path(snapshot_id).with_suffix(ENDED_SUFFIX).read_bytes()

    def forget(self, snapshot_id: str) -> None:
        """Remove what is left of a deleted snapshot, once no service holds a database for it alone."""
        with suppress(OSError):
            self.path(snapshot_id).with_suffix(ENDED_SUFFIX).unlink()

    def find(self) -> FoundSnapshots:
        """Return what is in the folder; only files that were never committed are removed."""
        found, times = FoundSnapshots(), dict[str, int]()
        for path in sorted(self._snapshots.iterdir()):
            if not _NAME.fullmatch(path.stem):
                found.unknown.append(path)
            elif path.suffix == JOURNAL_SUFFIX:
                times[path.stem] = path.stat().st_mtime_ns
            elif path.suffix == ENDED_SUFFIX:
                found.ended.append(path.stem)
            elif path.suffix == _ASIDE:
                path.unlink(missing_ok=True)
            elif path.suffix == PENDING_SUFFIX and (note := _pending(path)) is not None:
                found.pending[path] = note
            else:
                found.unknown.append(path)
        found.ids = sorted(times, key=lambda name: (times[name], name))
        return found

    def path(self, snapshot_id: str) -> Path:
        """Return where a snapshot is."""
        return self._snapshots / f"{snapshot_id}{JOURNAL_SUFFIX}"

    def _sync(self) -> None:
        """Let the folder's own content reach the disk."""
        descriptor = os.open(self._snapshots, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def snapshot_id_of(content: bytes) -> str:
    """Return the id that belongs to the bytes of a snapshot."""
    return hashlib.sha256(content).hexdigest()[:_ID_LENGTH]


def _pending(path: Path) -> PendingSnapshot | None:
    """Return what a note says, None for one whose bytes do not fit its name."""
    content = path.read_bytes()
    if snapshot_id_of(content) != path.stem:
        return None
    try:
        return PendingSnapshot.model_validate_json(content)
    except ValidationError:
        return None
