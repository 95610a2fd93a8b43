"""Quarantine of a service: keeps unexpected or unreadable episodes and snapshots instead of deleting them.

Each entry is a folder `quarantine/<entry>` with `reason.json` and the moved files.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path

from companyos_shared.framework.durable_files import write_durably
from companyos_shared.framework.errors import QuarantineConflictError, UnknownEntryError
from companyos_shared.wire.control import QuarantineEntry

_REASON = "reason.json"
_EPISODE = "episode"
_SOURCE = "source.db"


class Quarantine:
    """The quarantine below one service folder."""

    def __init__(self, folder: Path, *, episodes: Path, snapshots: Path) -> None:
        self._folder = folder
        self._episodes = episodes
        self._snapshots = snapshots

    def add_episode(self, episode: str, reason: str) -> QuarantineEntry | None:
        """Move the files of an episode to quarantine; return None if there are none."""
        return self._add(self._episodes / episode, {"episode": episode, "reason": reason})

    def add_source(self, source: str, reason: str) -> QuarantineEntry | None:
        """Move a snapshot to quarantine; return None if it does not exist."""
        return self._add(self._snapshots / f"{source}.db", {"source": source, "reason": reason})

    def entries(self) -> list[QuarantineEntry]:
        """Return all entries by name."""
        return [self._entry(path) for path in sorted(self._folder.glob("*")) if path.is_dir()]

    def restore(self, entry: str) -> QuarantineEntry:
        """Restore an entry; raises UnknownEntryError (404), or QuarantineConflictError (409) for a name in use."""
        restored = self._find_entry(entry)
        source, target = self._paths(restored)
        if target.exists():
            raise QuarantineConflictError(f"{restored.episode or restored.source} already exists.")
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(source, target)
        shutil.rmtree(self._folder / entry)
        return restored

    def remove(self, entry: str) -> QuarantineEntry:
        """Delete an entry; raises UnknownEntryError (404)."""
        removed = self._find_entry(entry)
        shutil.rmtree(self._folder / entry)
        return removed

    def _add(self, original: Path, metadata: dict[str, str]) -> QuarantineEntry | None:
        """Write the reason, then move the files. An entry without files is an unfinished move, which is repeated."""
        if not original.exists():
            return None
        name = metadata.get("episode") or metadata["source"]
        entry = self._new_entry(name)
        entry.mkdir(parents=True, mode=0o700)
        write_durably(entry / _REASON, json.dumps(metadata).encode())
        os.rename(original, entry / (_EPISODE if "episode" in metadata else _SOURCE))
        return self._entry(entry)

    def _new_entry(self, name: str) -> Path:
        names = itertools.chain([name], (f"{name}.{number}" for number in itertools.count(2)))
        return next(path for path in map(self._folder.__truediv__, names) if not path.exists())

    def _find_entry(self, entry: str) -> QuarantineEntry:
        path = self._folder / entry
        if entry in (".", "..") or not path.is_dir():
            raise UnknownEntryError(f"entry {entry!r} does not exist.")
        return self._entry(path)

    def _paths(self, entry: QuarantineEntry) -> tuple[Path, Path]:
        folder = self._folder / entry.entry
        if entry.source is not None:
            return folder / _SOURCE, self._snapshots / f"{entry.source}.db"
        return folder / _EPISODE, self._episodes / (entry.episode or entry.entry)

    def _entry(self, path: Path) -> QuarantineEntry:
        try:
            metadata = dict(json.loads((path / _REASON).read_text()))
        except (OSError, ValueError):
            metadata = {"episode": path.name, "reason": "the reason cannot be read"}
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        return QuarantineEntry(
            entry=path.name,
            episode=metadata.get("episode"),
            source=metadata.get("source"),
            reason=metadata["reason"],
            bytes=size,
        )
