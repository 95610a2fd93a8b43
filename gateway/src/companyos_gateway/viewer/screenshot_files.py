"""Screenshots of the browser windows of live and finished episodes, for the viewer.

Each episode has a folder of PNG files; all are lost when the gateway ends.
"""

from __future__ import annotations

import shutil
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

MAX_BYTES = 256 * 1024 * 1024
"""Maximum size of all screenshots together. Those of the episode whose last one is oldest are deleted first."""


@dataclass(frozen=True, slots=True)
class StoredScreenshot:
    """A stored screenshot and the last step that had been taken. Its id is unique in the gateway."""

    id: str
    step: int
    path: Path


class ScreenshotFiles:
    """The screenshots by key of their episode."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._stored: OrderedDict[str, list[StoredScreenshot]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._last_digests: dict[str, bytes] = {}
        self._count = 0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(0o700, parents=True, exist_ok=True)

    def add(self, key: str, step: int, png: bytes) -> None:
        """Store a screenshot, unless it equals the episode's last one or cannot be written."""
        digest = sha256(png).digest()
        if self._last_digests.get(key) == digest:
            return
        self._count += 1
        path = self._folder / key / f"{self._count}.png"
        try:
            path.parent.mkdir(0o700, exist_ok=True)
            path.write_bytes(png)
        except OSError:
            path.unlink(missing_ok=True)
            return
        self._stored.setdefault(key, []).append(StoredScreenshot(path.stem, step, path))
        self._stored.move_to_end(key)
        self._last_digests[key] = digest
        self._sizes[key] = self._sizes.get(key, 0) + len(png)
        while sum(self._sizes.values()) > self._max_bytes and len(self._stored) > 1:
            self.delete(next(iter(self._stored)))

    def list_all(self, key: str) -> list[StoredScreenshot]:
        """Return the screenshots of an episode in order."""
        return list(self._stored.get(key, ()))

    def delete(self, key: str) -> None:
        """Delete the screenshots of an episode."""
        self._last_digests.pop(key, None)
        self._sizes.pop(key, None)
        if self._stored.pop(key, None) is not None:
            shutil.rmtree(self._folder / key, ignore_errors=True)
