"""File permissions: databases, manifests and snapshots contain task solutions, so only their user may read them."""

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
    """Set the umask so that new folders have mode 0700, and new files and sockets at most 0600."""
    os.umask(_OTHERS)


def make_private_folder(folder: Path) -> Path:
    """Create a folder that only this user can access, and return it.

    An existing folder that is open to other users becomes private with all its contents. If it belongs to another user,
    it is left unchanged and a warning is logged.
    """
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) & _OTHERS:
        try:
            folder.chmod(FOLDER_MODE)
        except PermissionError:
            _log.warning("folder %s belongs to another user and its mode is not 0700: other users may read it", folder)
        else:
            _log.warning("folder %s was readable by other users; its mode is now 0700", folder)
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
