"""The gateway's own files: manifests and journals of live episodes, and snapshots.

A file appears whole under its name or not at all. They survive the death of any process, not that of the host.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from companyos_gateway.episode.errors import StorageFull
from companyos_gateway.episode.journal import Journal
from companyos_gateway.episode.manifest import FORMAT, Manifest
from companyos_shared.failpoints import failpoint

_MANIFEST = "manifest.json"
_JOURNAL = ".jsonl"
_ASIDE = ".tmp"
_ID_LENGTH = 32
_BATCH_BYTES = 12
_log = logging.getLogger(__name__)


class EpisodeFiles:
    """Everything below the gateway's folder: `episodes/<internal id>/`, `snapshots/<id>.jsonl`, `unfinished/<fork>`."""

    def __init__(self, folder: Path) -> None:
        self._episodes = folder / "episodes"
        self._snapshots = folder / "snapshots"
        self._unfinished = folder / "unfinished"
        for made in (self._episodes, self._snapshots, self._unfinished):
            made.mkdir(parents=True, exist_ok=True)

    def commit(self, manifest: Manifest, lines: bytes = b"") -> Journal:
        """Begin an epoch whose journal starts with `lines`; it counts once its manifest lies under its name.

        Raises StorageFull (507); the epoch before is then untouched.
        """
        folder = self._episodes / manifest.internal_id
        journal = Journal(folder / f"{manifest.epoch}{_JOURNAL}")
        try:
            folder.mkdir(exist_ok=True)
            journal.path.unlink(missing_ok=True)
            journal.begin(lines)
            self._write_manifest(manifest)
        except (OSError, StorageFull) as error:
            journal.close()
            with suppress(OSError):
                journal.path.unlink()
            with suppress(OSError):  # what holds a manifest already stays; no descriptor is needed for this
                folder.rmdir()
            raise error if isinstance(error, StorageFull) else _no_room(error) from error
        if manifest.epoch > 1:
            self._remove_older(folder, journal.path)
        return journal

    @contextmanager
    def all_or_none(self, origin: Manifest, count: int) -> Iterator[Manifest]:
        """Give what so many forks begin from: where their maker is killed before the last one, a start finds none.

        A note of their making is written before and removed behind; raises StorageFull (507).
        """
        if count == 1:
            yield origin
            return
        note = self._unfinished / secrets.token_hex(_BATCH_BYTES)
        try:
            note.touch()
            yield origin.model_copy(update={"batch": note.name})
            note.unlink()
        except OSError as error:
            raise _no_room(error) from error

    def journal(self, manifest: Manifest) -> Journal:
        """Return the journal of an epoch that was begun before, mended."""
        journal = Journal(self._episodes / manifest.internal_id / f"{manifest.epoch}{_JOURNAL}")
        journal.mend()
        self._remove_older(journal.path.parent, journal.path)
        return journal

    def manifests(self) -> Iterator[Manifest]:
        """Yield the manifest of every episode; what holds none, one of another format or of half a fork, is removed.

        Raises OSError for one that cannot be read now: it may be whole, and what it names is not to be lost for it.
        """
        notes = list(self._unfinished.iterdir())
        unfinished = {note.name for note in notes}
        for folder in sorted(self._episodes.iterdir()):
            try:
                manifest = Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
                if manifest.format != FORMAT or manifest.internal_id != folder.name:
                    raise ValueError("the manifest is of another format or another episode")
                if manifest.batch in unfinished:
                    raise ValueError("the fork that made it was cut off")
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError) as error:
                _log.warning("the episode folder %s has no manifest and is removed: %s", folder.name, error)
                shutil.rmtree(folder, ignore_errors=True)
            else:
                yield manifest
        for note in notes:
            note.unlink()

    def remove(self, internal_id: str) -> None:
        """Forget an episode: its manifest first, so that nothing half removed is ever found."""
        folder = self._episodes / internal_id
        with suppress(OSError):
            (folder / _MANIFEST).unlink()
        shutil.rmtree(folder, ignore_errors=True)

    def retire(self, manifest: Manifest) -> None:
        """Keep of an episode only that its databases are to be kept."""
        with suppress(OSError):
            self._write_manifest(manifest.model_copy(update={"is_over": True}))

    def keep_snapshot(self, content: bytes) -> str:
        """Write a snapshot and return its id; raises StorageFull (507)."""
        snapshot_id = snapshot_id_of(content)
        path = self._snapshot(snapshot_id)
        aside = path.with_suffix(_ASIDE)
        try:
            aside.write_bytes(content)
            failpoint("gateway.snapshot.before")
            os.replace(aside, path)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            raise _no_room(error) from error
        failpoint("gateway.snapshot.after")
        return snapshot_id

    def snapshot(self, snapshot_id: str) -> bytes | None:
        """Return the bytes of a snapshot, None where there is none."""
        try:
            return self._snapshot(snapshot_id).read_bytes()
        except FileNotFoundError:
            return None

    def remove_snapshot(self, snapshot_id: str) -> None:
        """Forget a snapshot; one that is not there is no error. Raises StorageFull (507); it is then still there."""
        try:
            self._snapshot(snapshot_id).unlink(missing_ok=True)
        except OSError as error:
            raise _no_room(error) from error

    def snapshots(self) -> list[str]:
        """Return the ids of all snapshots, the oldest first; what a killed writer left is removed."""
        for left in self._snapshots.glob(f"*{_ASIDE}"):
            left.unlink(missing_ok=True)
        found = [(path.stat().st_mtime_ns, path.stem) for path in self._snapshots.glob(f"*{_JOURNAL}")]
        return [name for _, name in sorted(found)]

    def folder_count(self) -> int:
        """Return how many episodes have a folder."""
        return sum(1 for _ in self._episodes.iterdir())

    def _write_manifest(self, manifest: Manifest) -> None:
        path = self._episodes / manifest.internal_id / _MANIFEST
        aside = path.with_suffix(_ASIDE)
        try:
            aside.write_bytes(manifest.model_dump_json(exclude={"options": {"resume", "injected_state"}}).encode())
            failpoint("gateway.manifest.before")
            os.replace(aside, path)
        except OSError:
            with suppress(OSError):
                aside.unlink()
            raise
        failpoint("gateway.manifest.after")

    def _remove_older(self, folder: Path, newest: Path) -> None:
        """Delete what no manifest names any more; what stays all the same is named by none either."""
        with suppress(OSError):
            for path in folder.iterdir():
                if path not in (newest, folder / _MANIFEST):
                    path.unlink(missing_ok=True)

    def _snapshot(self, snapshot_id: str) -> Path:
        return self._snapshots / f"{snapshot_id}{_JOURNAL}"


def snapshot_id_of(content: bytes) -> str:
    """Return the id that belongs to the bytes of a snapshot."""
    return hashlib.sha256(content).hexdigest()[:_ID_LENGTH]


def _no_room(error: OSError) -> StorageFull:
    return StorageFull(f"The gateway's folder cannot be written: {error.strerror}.")
