"""What the data folder can still take, and the errors of a storage that takes nothing more, as a Problem."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from companyos_shared.chassis.errors import StorageFull

DATABASE_ERRORS = (DBAPIError, sqlite3.Error)
"""What SQLite says, through SQLAlchemy or straight from the driver."""

STORAGE_ERRORS = (*DATABASE_ERRORS, OSError)
"""What `storage_problem` looks into."""

_FULL, _READ_ONLY = "The storage is full.", "The storage is read-only."
_FAILED, _NO_FILE = "The storage answers with an input or output error.", "No further file can be opened."

_BY_ERRNO = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _READ_ONLY,
    errno.EIO: _FAILED,
    errno.EMFILE: _NO_FILE,
    errno.ENFILE: _NO_FILE,
}
_BY_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_IOERR: _FAILED,
    sqlite3.SQLITE_CANTOPEN: _NO_FILE,
}
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
_PRIMARY = 0xFF


class Storage:
    """The file system of a data folder. New files are refused before live episodes run out of room."""

    def __init__(self, folder: Path, *, min_free_bytes: int) -> None:
        self.folder = folder
        self._min_free_bytes = min_free_bytes

    def free_bytes(self) -> int | None:
        """Return how much the folder can still take, None where its file system has no limit."""
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize if found.f_blocks else None

    def has_headroom(self) -> bool:
        """Say whether a new file leaves live episodes the room they need."""
        free = self.free_bytes()
        return free is None or free >= self._min_free_bytes

    def check_headroom(self) -> None:
        """Raise StorageFull (507) where a new file would take the room of live episodes."""
        if not self.has_headroom():
            raise StorageFull(f"Less than {self._min_free_bytes} bytes are free.")


def storage_problem(error: BaseException) -> StorageFull | None:
    """Return the refusal behind an error of the storage, None where the error is anything else."""
    fact = _BY_ERRNO.get(error.errno or 0) if isinstance(error, OSError) else _BY_SQLITE.get(_sqlite_code(error))
    return None if fact is None else StorageFull(fact)


def is_damage(error: BaseException) -> bool:
    """Say whether a file could be read but is no database of ours: cut off, overwritten, without our tables or rows."""
    return isinstance(error, LookupError) or _sqlite_code(error) in _DAMAGED


def _sqlite_code(error: BaseException) -> int:
    found = error.orig if isinstance(error, DBAPIError) else error
    return int(getattr(found, "sqlite_errorcode", 0)) & _PRIMARY
