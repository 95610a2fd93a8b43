"""Database files: builds templates from documents, copies them for epochs and opens connections through one engine.

WAL with synchronous=OFF survives the end of any process. A host crash may lose a whole episode.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

from pydantic_core import from_json
from sqlalchemy import Connection, MetaData, create_engine
from sqlalchemy.pool import NullPool

from companyos_shared.failpoints import failpoint
from companyos_shared.framework import tables
from companyos_shared.framework.change_capture import base_sql, row_column_sql, strip_sql, trigger_sql
from companyos_shared.framework.durable_files import (
    TEMPORARY,
    belongs_to_running_process,
    sync_file,
    sync_folder,
    temporary_name,
)
from companyos_shared.framework.storage import DATABASE_ERRORS, begin, commit, sqlite_connection
from companyos_shared.streams import digest

T = TypeVar("T")

_BUSY_TIMEOUT_S = 2.0
_CACHED_STATEMENTS = 256
_WRITE_META = "INSERT OR REPLACE INTO _meta (key, value) VALUES (?, ?)"
_PAGE_BYTES = 1024
"""Small pages keep files small: most tables are small, and every epoch that writes copies the whole file."""

_COPY_BYTES = 1024 * 1024
_CACHE_KIB = 256
"""Page cache of a connection, in KiB. The database of a small company fits; larger ones rely on the system's cache."""

_JOURNAL_VERSION_AT = 18
_NO_WAL, _WAL = b"\x01\x01", b"\x02\x02"
"""Position and values of the write and read version in a database header: https://www.sqlite.org/fileformat.html.

A template is built without a journal, because a failed one is deleted, and its copies are used in WAL mode.
"""

_blanks: WeakKeyDictionary[MetaData, bytes] = WeakKeyDictionary()
"""Content of an empty database file by the metadata of its tables."""


class Database:
    """One engine per service; each connection belongs to one file."""

    def __init__(self, metadata: MetaData) -> None:
        self.metadata = metadata
        self.schema = schema_version(metadata)
        self._opening = threading.local()
        """`uri` is the URI that the current thread opens."""
        self._engine = create_engine("sqlite://", creator=self._open, poolclass=NullPool, json_deserializer=from_json)

    def connect(self, path: Path) -> Connection:
        """Open an existing file without creating a missing one. The caller closes the connection."""
        self._opening.uri = f"file:{quote(str(path))}?mode=rw"
        return self._engine.connect()

    def connect_read_only(self, path: Path) -> Connection:
        """Open a file that no process writes, read-only and without a log. The caller closes the connection."""
        self._opening.uri = f"file:{quote(str(path))}?mode=ro&immutable=1"
        return self._engine.connect()

    def _open(self) -> sqlite3.Connection:
        raw = sqlite3.connect(
            self._opening.uri,
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            cached_statements=_CACHED_STATEMENTS,
            check_same_thread=False,
        )
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute("PRAGMA wal_autocheckpoint=0")
        raw.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        return raw

    def close(self, db: Connection, path: Path) -> None:
        """Close an epoch without changing its file or its log.

        The last connection to close would copy the log into the file and delete the log. A read-only connection cannot
        do so; therefore, one is opened before `db` is closed, and it is closed last.
        """
        try:
            with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as last:
                last.execute("PRAGMA user_version").fetchone()
                db.close()
        except sqlite3.Error:
            db.close()

    def read_generation(self, path: Path) -> int:
        """Return the last generation that wrote to an epoch; 0 if there is none or the file cannot be read."""
        try:
            with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as raw:
                row = raw.execute("SELECT value FROM _meta WHERE key = 'generation'").fetchone()
        except DATABASE_ERRORS:
            return 0
        return int(row[0]) if row else 0

    def build(
        self,
        folder: Path,
        name: str,
        load_seed: Callable[[Connection], None],
        read: Callable[[Connection], T],
        *,
        base: Path | None = None,
        is_base: bool = False,
    ) -> tuple[Path, T]:
        """Create `<name>-<sha256>.db` atomically, and return its path and the result of `read`.

        The file has all tables, the rows that `load_seed` inserts, and the rows of `base`, if given. A base gets
        indexes instead of triggers.
        """
        with _temporary_file(folder / name) as temporary:
            if base is None:
                temporary.write_bytes(self._blank())
            else:
                shutil.copyfile(base, temporary)
            _set_journal_version(temporary, _NO_WAL)
            with self.connect(temporary) as db:
                sqlite_connection(db).execute("PRAGMA journal_mode=OFF")
                begin(db)
                load_seed(db)
                if is_base:
                    _execute_all(db, base_sql(self.metadata))
                else:
                    _execute_all(db, trigger_sql(self.metadata, has_base=base is not None))
                result = read(db)
                commit(db)
            _set_journal_version(temporary, _WAL)
            path = folder / f"{name}-{checksum(temporary)}.db"
            os.replace(temporary, path)
        return path, result

    def _blank(self) -> bytes:
        """Return the content of a database with all tables and without rows."""
        if self.metadata not in _blanks:
            self._opening.uri = "file::memory:"
            with self._engine.connect() as db:
                sqlite_connection(db).execute(f"PRAGMA page_size={_PAGE_BYTES}")
                tables.metadata.create_all(db)
                self.metadata.create_all(db)
                _execute_all(db, row_column_sql(self.metadata))
                commit(db)
                _blanks[self.metadata] = sqlite_connection(db).serialize()
        return _blanks[self.metadata]

    def copy(self, source: Path, target: Path) -> None:
        """Copy a file that is not being written; raises FileExistsError, without replacing it, if the target exists."""
        temporary = f"{temporary_name(target)}"
        try:
            os.makedirs(target.parent, exist_ok=True)
            with open(source, "rb", buffering=0) as source_file, open(temporary, "xb") as target_file:
                shutil.copyfileobj(source_file, target_file, _COPY_BYTES)
            failpoint("service.epoch.before")
            os.link(temporary, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        failpoint("service.epoch.after")

    def take_snapshot(self, db: Connection, folder: Path, meta: Mapping[str, str]) -> str:
        """Copy a live database including its log, add `meta` to its meta table, and return the sha256 of the copy.

        The sha256 is the file name of the copy. The copy is synced to disk before it is renamed.
        """
        with _temporary_file(folder / "snapshot") as temporary:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as taken:
                taken.execute("PRAGMA synchronous=OFF")
                taken.execute("PRAGMA journal_mode=OFF")
                sqlite_connection(db).backup(taken)
                taken.executemany(_WRITE_META, meta.items())
            source = checksum(temporary)
            sync_file(temporary)
            failpoint("service.snapshot.before")
            os.replace(temporary, folder / f"{source}.db")
        sync_folder(folder)
        failpoint("service.snapshot.after")
        return source

    def export(self, db: Connection, near: Path) -> bytes:
        """Return a live database including its log as the bytes of one file, without triggers and internal columns."""
        with _temporary_file(near) as temporary:
            sqlite_connection(db).execute("VACUUM INTO ?", (str(temporary),))
            with closing(self.connect(temporary)) as copy:
                _execute_all(copy, strip_sql(self.metadata))
            return temporary.read_bytes()


def _execute_all(db: Connection, statements: list[str]) -> None:
    for statement in statements:
        sqlite_connection(db).execute(statement)


def _set_journal_version(path: Path, version: bytes) -> None:
    """Write the header bytes that say whether a closed database is in WAL mode."""
    with path.open("r+b", buffering=0) as file:
        file.seek(_JOURNAL_VERSION_AT)
        file.write(version)


def read_meta(db: Connection, key: str) -> str | None:
    """Return a value of the meta table."""
    row = sqlite_connection(db).execute("SELECT value FROM _meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def write_meta(db: Connection, values: Mapping[str, str]) -> None:
    """Insert or replace values of the meta table."""
    sqlite_connection(db).executemany(_WRITE_META, values.items())


def remove_database(path: Path) -> None:
    """Delete a database file with its log and its shared memory."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")


def checksum(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_in_name(path: Path) -> str:
    """Return the sha256 at the end of a file name."""
    return path.stem.rpartition("-")[2]


def epoch_path(folder: Path, epoch: int, content: str) -> Path:
    """Return the path of an epoch's file whose initial bytes have this sha256."""
    return folder / f"{epoch}-{content}.db"


def epoch_files(folder: Path) -> dict[int, Path]:
    """Return the database file of each epoch in an episode's folder."""
    named = ((path, path.stem.partition("-")[0]) for path in folder.glob("*-*.db"))
    return {int(epoch): path for path, epoch in named if epoch.isdecimal()}


def remove_temporary_files(folder: Path) -> None:
    """Delete temporary files of ended processes anywhere below the folder."""
    for path in folder.rglob(f".*{TEMPORARY}*"):
        if not belongs_to_running_process(path):
            path.unlink(missing_ok=True)


@contextmanager
def _temporary_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; a file that remains there is deleted at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        yield temporary
    finally:
        remove_database(temporary)


def schema_version(metadata: MetaData) -> str:
    """Return a digest of all tables, columns and triggers, of the service and of the framework."""
    shape = {
        table.name: [(column.name, str(column.type), column.nullable) for column in table.columns]
        for known in (metadata, tables.metadata)
        for table in known.sorted_tables
    }
    statements = (row_column_sql, trigger_sql, base_sql)
    return digest([shape, *(sql(metadata) for sql in statements)])
