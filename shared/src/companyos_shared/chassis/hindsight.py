"""Stale reads: queries that see rows as they were before one step, as on a lagging replica."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, MetaData, Table

from companyos_shared.chassis.driver import begin, driver_of, rollback
from companyos_shared.wire.context import Actor

_FIRST_IMAGES = """
SELECT tbl, key, before FROM _changes
WHERE seq IN (SELECT MIN(seq) FROM _changes WHERE step = ? AND actor = ? GROUP BY tbl, key) ORDER BY seq DESC
"""


@contextmanager
def before_step(db: Connection, metadata: MetaData, step: int) -> Iterator[None]:
    """Revert the rows that the agent's step changed for the duration of the block, then roll back."""
    driver = driver_of(db)
    images = driver.execute(_FIRST_IMAGES, (step, Actor.AGENT.value)).fetchall()
    begin(db)
    try:
        driver.execute("PRAGMA defer_foreign_keys = ON")
        for table, key, before in images:
            _restore(db, metadata.tables[table], key, None if before is None else json.loads(before))
        yield
    finally:
        rollback(db)


def _restore(db: Connection, table: Table, key: str, row: Mapping[str, Any] | None) -> None:
    """Restore a row to its earlier values; delete it if `row` is None."""
    name, key_column = f'"{table.name}"', f'"{next(iter(table.primary_key.columns)).name}"'
    driver = driver_of(db)
    if row is None:
        driver.execute(f"DELETE FROM {name} WHERE {key_column} = ?", (key,))  # noqa: S608
        return
    values = [json.dumps(value) if isinstance(value, dict | list) else value for value in row.values()]
    columns = [f'"{column}"' for column in row]
    assigned = ", ".join(f"{column} = ?" for column in columns)
    changed = driver.execute(f"UPDATE {name} SET {assigned} WHERE {key_column} = ?", (*values, key))  # noqa: S608
    if not changed.rowcount:
        places = ", ".join("?" * len(columns))
        driver.execute(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({places})", values)  # noqa: S608
