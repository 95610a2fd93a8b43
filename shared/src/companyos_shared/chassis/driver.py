"""The driver's own connection below SQLAlchemy's: the chassis' fixed statements go there, at a fifth of the cost."""

from __future__ import annotations

import sqlite3
from typing import cast

from sqlalchemy import Connection


def driver_of(db: Connection) -> sqlite3.Connection:
    """Return what a connection stands on. Both see the same transaction."""
    return cast(sqlite3.Connection, db.connection.dbapi_connection)


def begin(db: Connection) -> None:
    """Open a write transaction at once, so that it cannot fail halfway for a lock."""
    driver_of(db).execute("BEGIN IMMEDIATE")


def commit(db: Connection) -> None:
    """Keep what was written since `begin`."""
    driver_of(db).commit()


def rollback(db: Connection) -> None:
    """Undo what was written since `begin`; without a transaction it does nothing."""
    driver_of(db).rollback()
