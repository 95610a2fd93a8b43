"""Log files of gateways started by this process."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

FOLDER = "logs"
MAX_KEPT_LOGS = 10
_LAST_LINES = 40
_PREFIX, _SUFFIX = "gateway-", ".log"


class LogFile:
    """`logs/gateway-<time>-<process>.log` in a data folder; the newest ten files are kept.

    Without a data folder it is a temporary file, which is deleted at the end unless an error occurred.
    """

    def __init__(self, data_dir: Path | None) -> None:
        self._is_kept = data_dir is not None
        if data_dir is None:
            descriptor, name = tempfile.mkstemp(prefix=f"companyos-{_PREFIX}", suffix=_SUFFIX)
            self.path = Path(name)
        else:
            folder = data_dir.resolve() / FOLDER
            folder.parent.mkdir(0o700, parents=True, exist_ok=True)  # mkdir does not apply the mode to parents
            folder.mkdir(0o700, exist_ok=True)
            self.path = folder / f"{_PREFIX}{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}{_SUFFIX}"
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            _remove_oldest(folder)
        self.file: IO[bytes] = os.fdopen(descriptor, "r+b")

    def last_lines(self) -> list[str]:
        """Return the last lines of the log."""
        text = self.path.read_bytes().decode(errors="replace").rstrip()
        return text.splitlines()[-_LAST_LINES:]

    def keep(self) -> None:
        """Mark the file to be kept after `close`."""
        self._is_kept = True

    def close(self) -> None:
        """Close the file, and delete a temporary one that is not kept."""
        self.file.close()
        if not self._is_kept:
            with suppress(OSError):
                self.path.unlink()


def _remove_oldest(folder: Path) -> None:
    logs = sorted(folder.glob(f"{_PREFIX}*T*{_SUFFIX}"))
    for path in logs[:-MAX_KEPT_LOGS]:
        with suppress(OSError):
            path.unlink()
