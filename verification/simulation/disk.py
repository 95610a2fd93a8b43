"""Effects of power loss, a full disk and flipped bits on files.

A file's last synced content and a folder's last synced names are durable. Later changes are kept, truncated, partly
zeroed or lost; name changes are kept in order.
"""

from __future__ import annotations

import errno
import os
import random
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK_BYTES = 512


@dataclass
class _NameChange:
    """A changed name with its previous content, or None if the name was new."""

    path: str
    before: bytes | None


class Disk:
    """The simulated disk: all files below one folder."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder = folder
        self.is_full = False
        self._rng = rng
        self._synced: dict[int, bytes] = {}
        self._changes: list[_NameChange] = []

    def mark_synced(self) -> None:
        """Treat the current state as synced."""
        self._synced = {path.stat().st_ino: path.read_bytes() for path in self._files()}
        self._changes.clear()

    def check_room(self, path: Any) -> None:
        """Raise OSError if the disk is full."""
        if self.is_full and str(path).startswith(str(self.folder)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def before_write(self, _fd: int, *_data: Any) -> None:
        """Raise OSError if the disk is full."""
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before_pwrite = before_write

    def before_replace(self, _source: Any, target: Any, *_rest: Any) -> None:
        """Record the previous content of the target name."""
        self._changes.append(_NameChange(os.path.realpath(target), _content(target)))

    before_rename = before_replace

    def before_link(self, _source: Any, target: Any, *_rest: Any) -> None:
        """Record the new name."""
        self._changes.append(_NameChange(os.path.realpath(target), None))

    def before_unlink(self, path: Any, *_rest: Any) -> None:
        """Record the previous content of the removed name."""
        if os.path.isabs(path):
            content = _content(path)
            if content is not None:
                self._changes.append(_NameChange(os.path.realpath(path), content))

    before_remove = before_unlink

    def before_fsync(self, fd: int) -> None:
        """Mark a file's content or a folder's names as durable."""
        path = os.readlink(f"/proc/self/fd/{fd}")
        if os.path.isdir(path):
            self._changes = [change for change in self._changes if os.path.dirname(change.path) != path]
        else:
            self._synced[os.fstat(fd).st_ino] = Path(path).read_bytes()

    before_fdatasync = before_fsync

    def lose_power(self) -> int:
        """Apply a power loss, and return the number of changed files and names."""
        rng, touched = self._rng, 0
        by_folder: dict[str, list[_NameChange]] = {}
        for change in self._changes:
            by_folder.setdefault(os.path.dirname(change.path), []).append(change)
        for path in self._files():
            touched += self._lose_content(path)
        for folder, changes in sorted(by_folder.items()):
            for change in reversed(changes[rng.randint(0, len(changes)) :]):
                if os.path.isdir(folder) and not os.path.isdir(change.path):
                    touched += 1
                    _undo(change)
        self.mark_synced()
        return touched

    def flip_bit(self) -> str:
        """Flip one bit of a random file; return a description."""
        path = self._pick()
        if path is None:
            return "nothing"
        content = bytearray(path.read_bytes())
        at = self._rng.randrange(len(content))
        content[at] ^= 1 << self._rng.randrange(8)
        _overwrite(path, bytes(content))
        return f"{path.relative_to(self.folder)}: a bit is flipped at byte {at} of {len(content)}"

    def cut_off(self) -> str:
        """Truncate a random file; return a description."""
        path = self._pick()
        if path is None:
            return "nothing"
        size = path.stat().st_size
        left = self._rng.randrange(size)
        os.truncate(path, left)
        return f"{path.relative_to(self.folder)} is cut off to {left} of {size} bytes"

    def delete(self) -> str:
        """Delete a random file; return a description."""
        path = self._pick()
        if path is None:
            return "nothing"
        path.unlink()
        return f"{path.relative_to(self.folder)} is deleted"

    def _pick(self) -> Path | None:
        found = [path for path in self._files() if path.stat().st_size and not path.name.endswith("-shm")]
        return self._rng.choice(found) if found else None

    def _lose_content(self, path: Path) -> int:
        content, rng = path.read_bytes(), self._rng
        synced = self._synced.get(path.stat().st_ino)
        if content == synced or rng.random() < 0.5:
            return 0
        kind = rng.randrange(4)
        if kind == 0:
            _overwrite(path, synced or b"")
        elif kind == 1:
            keep = _common(content, synced or b"")
            _overwrite(path, content[: rng.randint(min(keep, len(content)), len(content))])
        elif kind == 2:
            _overwrite(path, _with_holes(content, _common(content, synced or b""), rng))
        elif synced is None:
            path.unlink()
        return 1

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())


def _with_holes(content: bytes, keep: int, rng: random.Random) -> bytes:
    found = bytearray(content)
    for start in range(keep // BLOCK_BYTES * BLOCK_BYTES, len(content), BLOCK_BYTES):
        if rng.random() < 0.3:
            first, last = max(start, keep), min(start + BLOCK_BYTES, len(content))
            found[first:last] = bytes(last - first)
    return bytes(found)


def _common(content: bytes, synced: bytes) -> int:
    """Return the number of leading bytes of a file that equal its synced content."""
    return next((at for at, (one, other) in enumerate(zip(content, synced, strict=False)) if one != other), len(synced))


def _content(path: Any) -> bytes | None:
    with suppress(OSError):
        return Path(path).read_bytes()
    return None


def _undo(change: _NameChange) -> None:
    if change.before is None:
        with suppress(FileNotFoundError):
            os.unlink(change.path)
    else:
        Path(change.path).write_bytes(change.before)


def _overwrite(path: Path, content: bytes) -> None:
    """Overwrite a file but keep its modification time, so that the damage is silent."""
    found = path.stat()
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(content)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
