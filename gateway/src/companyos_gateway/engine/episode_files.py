"""The gateway's files of episodes: manifests and journals.

An episode is created and ended by renaming its folder, so a folder with an episode's name but no manifest is damaged.
The files survive a crash of any process, but not of the host.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from companyos_gateway.engine.errors import QuarantineReason, StorageFullError, UnusableFilesError
from companyos_gateway.engine.journal import Journal
from companyos_gateway.engine.journal_format import JournalHeader
from companyos_gateway.engine.manifest import Manifest, ManifestState, decode_manifest, encode_manifest
from companyos_shared.failpoints import failpoint
from companyos_shared.private_files import FILE_MODE, FOLDER_MODE

MANIFEST = "manifest.json"
JOURNAL_SUFFIX = ".jsonl"
TEMPORARY_PREFIX = ".tmp-"
ENDED_PREFIX = ".ended-"

_MANIFEST_TEMPORARY = "manifest.tmp"
_BATCH_BYTES = 12
_BATCH = re.compile(r"[0-9a-f]{24}")
_INTERNAL_ID = re.compile(r"\A[A-Za-z0-9_-][A-Za-z0-9._-]*-[0-9a-f]{24}")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class EpisodeScan:
    """Result of scanning the episode folder. `manifests` contains those of live and kept episodes, with checksums."""

    manifests: list[tuple[Manifest, str]] = field(default_factory=list)
    ended: dict[str, Manifest | None] = field(default_factory=dict)
    """By internal id; None if the manifest cannot be read."""
    unusable: dict[str, UnusableFilesError] = field(default_factory=dict)
    unknown: list[Path] = field(default_factory=list)
    notes: list[Path] = field(default_factory=list)
    """Notes of interrupted forks, to be removed after the episodes of these forks."""


class EpisodeFiles:
    """The folders `episodes/<internal id>` and `unfinished/<fork>` below the gateway's folder."""

    def __init__(self, folder: Path) -> None:
        self._episodes = folder / "episodes"
        self._unfinished = folder / "unfinished"
        for path in (self._episodes, self._unfinished):
            path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)

    def commit(self, manifest: Manifest, payloads: Sequence[bytes] = ()) -> Journal:
        """Begin an epoch whose journal starts with these payloads, and commit it by renaming its manifest.

        Raises StorageFullError (507); the previous epoch is then unchanged.
        """
        content, checksum = encode_manifest(manifest)
        folder = self.folder(manifest.internal_id)
        journal = self._journal(folder, manifest, checksum)
        is_first = manifest.epoch == 1
        temporary = self._episodes / f"{TEMPORARY_PREFIX}{manifest.internal_id}" if is_first else folder
        paths = (temporary / journal.path.name, temporary / (MANIFEST if is_first else _MANIFEST_TEMPORARY))
        try:
            if is_first:
                temporary.mkdir(FOLDER_MODE)
            journal.begin(list(payloads), paths[0])
            write_file(paths[1], content)
            failpoint("gateway.manifest.before")
            os.rename(temporary, folder) if is_first else os.replace(paths[1], folder / MANIFEST)
        except (OSError, StorageFullError) as error:
            journal.close()
            for path in paths:
                with suppress(OSError):
                    path.unlink()
            if is_first:
                with suppress(OSError):
                    temporary.rmdir()
            raise error if isinstance(error, StorageFullError) else storage_full_error(error) from error
        failpoint("gateway.manifest.after")
        if not is_first:
            self.remove_other_epochs(manifest)
        return journal

    @contextmanager
    def atomic_batch(self, origin: Manifest, count: int) -> Iterator[Manifest]:
        """Yield the manifest from which to create `count` forks, all or none.

        If the gateway is killed before the last fork, the next start ends the others: a note file, written first and
        removed last, marks them as incomplete. Raises StorageFullError (507).
        """
        if count == 1:
            yield origin
            return
        note = self._unfinished / secrets.token_hex(_BATCH_BYTES)
        try:
            write_file(note, b"")
            yield origin.model_copy(update={"batch": note.name})
            note.unlink()
        except OSError as error:
            raise storage_full_error(error) from error

    def journal(self, manifest: Manifest, checksum: str) -> Journal:
        """Return the journal of an existing epoch."""
        return self._journal(self.folder(manifest.internal_id), manifest, checksum)

    def scan(self) -> EpisodeScan:
        """Read every manifest, the newest first, because of two with one id the newer one has replaced the other.

        Folders that were never committed are removed. Raises OSError for a manifest that cannot be read at the moment,
        because it may be undamaged.
        """
        result = EpisodeScan()
        for note in self._unfinished.iterdir():
            (result.notes if _BATCH.fullmatch(note.name) else result.unknown).append(note)
        unfinished = {note.name for note in result.notes}
        for path in sorted(self._episodes.iterdir(), key=lambda path: path.lstat().st_mtime_ns, reverse=True):
            self._classify(path, unfinished, result)
        return result

    def mark_ended(self, internal_id: str) -> None:
        """Mark an episode as ended by one atomic rename. Raises OSError; the episode is then still live."""
        os.rename(self.folder(internal_id), self._episodes / f"{ENDED_PREFIX}{internal_id}")

    def delete_ended(self, internal_id: str) -> None:
        """Remove the files of an episode that is marked as ended."""
        shutil.rmtree(self._episodes / f"{ENDED_PREFIX}{internal_id}", ignore_errors=True)

    def mark_kept(self, manifest: Manifest) -> None:
        """Mark an episode as ended with its databases kept."""
        folder = self.folder(manifest.internal_id)
        with suppress(OSError):
            write_file(
                folder / _MANIFEST_TEMPORARY,
                encode_manifest(manifest.model_copy(update={"state": ManifestState.KEPT}))[0],
            )
            os.replace(folder / _MANIFEST_TEMPORARY, folder / MANIFEST)

    def move_away(self, internal_id: str, target: Path) -> None:
        """Move an episode's folder to another path; raises OSError."""
        os.rename(self.folder(internal_id), target)

    def move_back(self, internal_id: str, source: Path) -> None:
        """Move an episode's folder back to its original path; raises OSError."""
        os.rename(source, self.folder(internal_id))

    def folder(self, internal_id: str) -> Path:
        """Return the folder of an episode's files."""
        return self._episodes / internal_id

    def remove_other_epochs(self, manifest: Manifest) -> None:
        """Remove the journals of an episode's other epochs and temporary files, but no unknown files."""
        folder = self.folder(manifest.internal_id)
        with suppress(OSError):
            for path in folder.iterdir():
                if path.name != f"{manifest.epoch}{JOURNAL_SUFFIX}" and _is_gateway_file(path):
                    path.unlink(missing_ok=True)

    def _classify(self, path: Path, unfinished: set[str], result: EpisodeScan) -> None:
        name = path.name
        if name.startswith(TEMPORARY_PREFIX) and is_internal_id(name.removeprefix(TEMPORARY_PREFIX)):
            _log.info("removing the folder %s of an episode that was not committed", name)
            shutil.rmtree(path, ignore_errors=True)
        elif name.startswith(ENDED_PREFIX) and is_internal_id(name.removeprefix(ENDED_PREFIX)):
            result.ended[name.removeprefix(ENDED_PREFIX)] = _read_or_none(path)
        elif not is_internal_id(name) or not path.is_dir():
            result.unknown.append(path)
        else:
            try:
                manifest, checksum = _read(path)
                if manifest.internal_id != name:
                    raise UnusableFilesError(
                        QuarantineReason.DAMAGED, f"the manifest belongs to {manifest.internal_id}"
                    )
            except UnusableFilesError as error:
                result.unusable[name] = error
                return
            if manifest.batch in unfinished:
                self.mark_ended(name)
                result.ended[name] = manifest
                return
            result.manifests.append((manifest, checksum))
            result.unknown += [
                inner for inner in path.iterdir() if not (_is_gateway_file(inner) or inner.name == MANIFEST)
            ]

    def _journal(self, folder: Path, manifest: Manifest, checksum: str) -> Journal:
        header = JournalHeader(episode=manifest.internal_id, epoch=manifest.epoch, manifest=checksum, id=manifest.id)
        return Journal(folder / f"{manifest.epoch}{JOURNAL_SUFFIX}", header)


def is_internal_id(name: str) -> bool:
    """Return whether a name has the format of an episode's internal id."""
    return _INTERNAL_ID.fullmatch(name) is not None


def write_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file that only its owner can read; raises OSError, also if it could only be written in part."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def storage_full_error(error: OSError) -> StorageFullError:
    """Return the StorageFullError for a failed write."""
    return StorageFullError(f"Failed to write to the gateway's folder: {error.strerror}.")


def _is_gateway_file(path: Path) -> bool:
    """Return whether a file in an episode's folder is a journal or a temporary manifest."""
    return path.name == _MANIFEST_TEMPORARY or (path.suffix == JOURNAL_SUFFIX and path.stem.isdecimal())


def _read(folder: Path) -> tuple[Manifest, str]:
    try:
        return decode_manifest((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UnusableFilesError(QuarantineReason.DAMAGED, "the manifest is missing") from None


def _read_or_none(folder: Path) -> Manifest | None:
    try:
        return _read(folder)[0]
    except (UnusableFilesError, OSError):
        return None
