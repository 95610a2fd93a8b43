"""Files that only the user of a process can read: databases, manifests and snapshots hold the solutions of tasks."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS = 0o077

_log = logging.getLogger(__name__)


def keep_files_private() -> None:
    """Set the umask of this process: folders are made with the mode 0700, files and sockets with 0600 at most."""
    os.umask(_OTHERS)


def make_private_folder(folder: Path) -> Path:
    """Return a folder that only this user can enter, made where it is missing.

    A folder that is open to other users, of an earlier version for example, is made private with everything in it. One
    that belongs to another user stays as it is, with a warning.
    """
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) & _OTHERS:
        try:
            folder.chmod(FOLDER_MODE)
        except PermissionError:
            _log.warning(
                "other users may read the folder %s, which belongs to another user: set its mode to 0700", folder
            )
        else:
            _log.warning("other users could read the folder %s: its mode is 0700 now", folder)
            _make_contents_private(folder)
    return folder


def _make_contents_private(folder: Path) -> None:
    for parent, folders, files in os.walk(folder):
        for mode, names in ((FOLDER_MODE, folders), (FILE_MODE, files)):
            for name in names:
                path = Path(parent, name)
                with suppress(PermissionError, FileNotFoundError):
                    if not path.is_symlink():
                        path.chmod(mode)
