"""Database files: templates built from documents, epochs copied from them, connections through one engine.

WAL with synchronous=OFF survives the death of any process; a host crash may lose an episode as a whole.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, MetaData, create_engine, select
from sqlalchemy.pool import NullPool

from companyos_shared.chassis import tables
from companyos_shared.chassis.changes import create_triggers, start_recording

_BUSY_TIMEOUT_S = 2.0
_CACHED_STATEMENTS = 256


class Database:
    """One engine per service; each connection belongs to one file."""

    def __init__(self, metadata: MetaData) -> None:
        self.metadata = metadata
        self._path = Path()
        self._blank: bytes | None = None
        self._engine = create_engine("sqlite://", creator=self._open, poolclass=NullPool)

    def connect(self, path: Path) -> Connection:
        """Open an existing file; one that is missing is an error and never made. The caller closes the connection."""
        self._path = path
        return self._engine.connect()

    def _open(self) -> sqlite3.Connection:
        raw = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode=rw",
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            cached_statements=_CACHED_STATEMENTS,
            check_same_thread=False,
        )
        raw.execute("PRAGMA synchronous=OFF")
        return raw

    def build(self, path: Path, plant: Callable[[Connection], None]) -> None:
        """Make a file with all tables, triggers and planted rows; it appears whole under its name or not at all."""
        with _aside(path) as made:
            if self._blank is None:
                self._blank = self._make_blank(made)
            made.write_bytes(self._blank)
            with self.connect(made) as db:
                begin(db)
                plant(db)
                start_recording(db)
                db.commit()
                db.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def _make_blank(self, made: Path) -> bytes:
        _enter_wal(made)
        with self.connect(made) as db:
            begin(db)
            tables.metadata.create_all(db)
            self.metadata.create_all(db)
            create_triggers(db, self.metadata)
            db.commit()
            db.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        return made.read_bytes()

    def copy(self, source: Path, target: Path) -> None:
        """Copy a file at rest to a new name."""
        with _aside(target) as made:
            shutil.copyfile(source, made)

    def vacuum_into(self, db: Connection, target: Path) -> None:
        """Copy a live database, whatever its log holds, to a new name."""
        with _aside(target) as made:
            made.unlink(missing_ok=True)
            db.exec_driver_sql("VACUUM INTO ?", (str(made),))
            _enter_wal(made)


def _enter_wal(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        mode = raw.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":
        raise RuntimeError(f"SQLite answers journal mode {mode!r} where 'wal' was asked for")


def begin(db: Connection) -> None:
    """Open a write transaction at once, so that it cannot fail halfway for a lock."""
    db.exec_driver_sql("BEGIN IMMEDIATE")


def read_meta(db: Connection, key: str) -> str | None:
    """Return a value of the chassis' own meta table."""
    return db.execute(select(tables.meta.c.value).where(tables.meta.c.key == key)).scalar_one_or_none()


def required_meta(db: Connection, key: str) -> str:
    """Return a value that every planted database has; raises LookupError where the file is none of ours."""
    value = read_meta(db, key)
    if value is None:
        raise LookupError(f"the database has no {key!r} in its meta table")
    return value


def write_meta(db: Connection, values: dict[str, str]) -> None:
    """Insert or replace values of the meta table."""
    for key, value in values.items():
        db.execute(tables.meta.insert().prefix_with("OR REPLACE"), {"key": key, "value": value})


def remove_database(path: Path) -> None:
    """Delete a database file with its log and its shared memory."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")


@contextmanager
def _aside(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.tmp")
    remove_database(made)
    try:
        yield made
        os.replace(made, path)
    finally:
        remove_database(made)


def schema_version(metadata: MetaData) -> str:
    """Return a text that changes whenever a table or column does."""
    shape = {
        table.name: [(column.name, str(column.type), column.nullable) for column in table.columns]
        for table in metadata.sorted_tables
    }
    return json.dumps(shape, sort_keys=True)
