"""The gateway's files of episodes: manifests and journals.

An episode appears and ends by renaming its folder, so a folder under an episode's name without a manifest is damage.
The files survive the death of any process, not that of the host.
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

from companyos_gateway.episode.errors import Reason, StorageFull, UnusableError
from companyos_gateway.episode.journal import Journal
from companyos_gateway.episode.journal_format import Header
from companyos_gateway.episode.manifest import Manifest, State, decode, encode
from companyos_shared.failpoints import failpoint

MANIFEST = "manifest.json"
JOURNAL_SUFFIX = ".jsonl"
TEMPORARY = ".tmp-"
ENDED = ".ended-"

FOLDER_MODE = 0o700
FILE_MODE = 0o600

_MANIFEST_ASIDE = "manifest.tmp"
_BATCH_BYTES = 12
_BATCH = re.compile(r"[0-9a-f]{24}")
_INTERNAL_ID = re.compile(r"\A[A-Za-z0-9_-][A-Za-z0-9._-]*-[0-9a-f]{24}")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class FoundEpisodes:
    """What a start finds in the folder of episodes. `manifests` are those of live and kept ones, with checksums."""

    manifests: list[tuple[Manifest, str]] = field(default_factory=list)
    ended: dict[str, Manifest | None] = field(default_factory=dict)
    """By internal id; None where the manifest cannot be read."""
    unusable: dict[str, UnusableError] = field(default_factory=dict)
    unknown: list[Path] = field(default_factory=list)
    notes: list[Path] = field(default_factory=list)
    """Of forks that were cut off; to be removed once their episodes are."""


class EpisodeFiles:
    """The folders `episodes/<internal id>` and `unfinished/<fork>` below the gateway's folder."""

    def __init__(self, folder: Path) -> None:
        self._episodes = folder / "episodes"
        self._unfinished = folder / "unfinished"
        for made in (self._episodes, self._unfinished):
            made.mkdir(FOLDER_MODE, parents=True, exist_ok=True)

    def commit(self, manifest: Manifest, payloads: Sequence[bytes] = ()) -> Journal:
        """Begin an epoch whose journal starts with these payloads; it counts once its manifest has its name.

        Raises StorageFull (507); the epoch before is then untouched.
        """
        content, checksum = encode(manifest)
        folder = self._folder(manifest.internal_id)
        journal = self._journal(folder, manifest, checksum)
        first = manifest.epoch == 1
        aside = self._episodes / f"{TEMPORARY}{manifest.internal_id}" if first else folder
        written = (aside / journal.path.name, aside / (MANIFEST if first else _MANIFEST_ASIDE))
        try:
            if first:
                aside.mkdir(FOLDER_MODE)
            journal.begin(list(payloads), written[0])
            write_file(written[1], content)
            failpoint("gateway.manifest.before")
            os.rename(aside, folder) if first else os.replace(written[1], folder / MANIFEST)
        except (OSError, StorageFull) as error:
            journal.close()
            for path in written:
                with suppress(OSError):
                    path.unlink()
            if first:
                with suppress(OSError):
                    aside.rmdir()
            raise error if isinstance(error, StorageFull) else no_room(error) from error
        failpoint("gateway.manifest.after")
        if not first:
            self.remove_other_epochs(manifest)
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
            write_file(note, b"")
            yield origin.model_copy(update={"batch": note.name})
            note.unlink()
        except OSError as error:
            raise no_room(error) from error

    def journal(self, manifest: Manifest, checksum: str) -> Journal:
        """Return the journal of an epoch that was begun before."""
        return self._journal(self._folder(manifest.internal_id), manifest, checksum)

    def find(self) -> FoundEpisodes:
        """Read every manifest. Only folders that were never committed are removed.

        Raises OSError for a manifest that cannot be read now: it may be whole.
        """
        found = FoundEpisodes()
        for note in self._unfinished.iterdir():
            (found.notes if _BATCH.fullmatch(note.name) else found.unknown).append(note)
        unfinished = {note.name for note in found.notes}
        for path in sorted(self._episodes.iterdir()):
            self._classify(path, unfinished, found)
        return found

    def end(self, internal_id: str) -> None:
        """Mark an episode as over, in one step that needs no room. Raises OSError; it is then live as before."""
        os.rename(self._folder(internal_id), self._episodes / f"{ENDED}{internal_id}")

    def forget(self, internal_id: str) -> None:
        """Remove what is left of an episode that is over."""
        shutil.rmtree(self._episodes / f"{ENDED}{internal_id}", ignore_errors=True)

    def retire(self, manifest: Manifest) -> None:
        """Record that an episode is over and its databases are to be kept."""
        folder = self._folder(manifest.internal_id)
        with suppress(OSError):
            write_file(folder / _MANIFEST_ASIDE, encode(manifest.model_copy(update={"state": State.KEPT}))[0])
            os.replace(folder / _MANIFEST_ASIDE, folder / MANIFEST)

    def move_away(self, internal_id: str, target: Path) -> None:
        """Move an episode's folder somewhere else; raises OSError."""
        os.rename(self._folder(internal_id), target)

    def move_back(self, internal_id: str, source: Path) -> None:
        """Move an episode's folder back under its name; raises OSError."""
        os.rename(source, self._folder(internal_id))

    def folder(self, internal_id: str) -> Path:
        """Return where the files of an episode are."""
        return self._folder(internal_id)

    def remove_other_epochs(self, manifest: Manifest) -> None:
        """Remove the journals of an episode's other epochs, and what a killed writer left; nothing else."""
        folder = self._folder(manifest.internal_id)
        with suppress(OSError):
            for path in folder.iterdir():
                if path.name != f"{manifest.epoch}{JOURNAL_SUFFIX}" and _is_own(path):
                    path.unlink(missing_ok=True)

    def _classify(self, path: Path, unfinished: set[str], found: FoundEpisodes) -> None:
        name = path.name
        if name.startswith(TEMPORARY) and is_internal_id(name.removeprefix(TEMPORARY)):
            _log.info("the folder %s of an episode that never began is removed", name)
            shutil.rmtree(path, ignore_errors=True)
        elif name.startswith(ENDED) and is_internal_id(name.removeprefix(ENDED)):
            found.ended[name.removeprefix(ENDED)] = _read_or_none(path)
        elif not is_internal_id(name) or not path.is_dir():
            found.unknown.append(path)
        else:
            try:
                manifest, checksum = _read(path)
                if manifest.internal_id != name:
                    raise UnusableError(Reason.DAMAGED, f"the manifest is that of {manifest.internal_id}")
            except UnusableError as error:
                found.unusable[name] = error
                return
            if manifest.batch in unfinished:
                self.end(name)
                found.ended[name] = manifest
                return
            found.manifests.append((manifest, checksum))
            found.unknown += [inner for inner in path.iterdir() if not (_is_own(inner) or inner.name == MANIFEST)]

    def _folder(self, internal_id: str) -> Path:
        return self._episodes / internal_id

    def _journal(self, folder: Path, manifest: Manifest, checksum: str) -> Journal:
        header = Header(episode=manifest.internal_id, epoch=manifest.epoch, manifest=checksum, id=manifest.id)
        return Journal(folder / f"{manifest.epoch}{JOURNAL_SUFFIX}", header)


def is_internal_id(name: str) -> bool:
    """Say whether a name is one that a gateway gives to an episode."""
    return _INTERNAL_ID.fullmatch(name) is not None


def write_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file that only its owner may read; raises OSError, also where there is room for a part of it alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def no_room(error: OSError) -> StorageFull:
    """Return the refusal of what could not be written."""
    return StorageFull(f"The gateway's folder cannot be written: {error.strerror}.")


def _is_own(path: Path) -> bool:
    """Say whether a file in an episode's folder is one that the gateway writes and replaces."""
    return path.name == _MANIFEST_ASIDE or (path.suffix == JOURNAL_SUFFIX and path.stem.isdecimal())


def _read(folder: Path) -> tuple[Manifest, str]:
    try:
        return decode((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UnusableError(Reason.DAMAGED, "the manifest is missing") from None


def _read_or_none(folder: Path) -> Manifest | None:
    try:
        return _read(folder)[0]
    except (UnusableError, OSError):
        return None
