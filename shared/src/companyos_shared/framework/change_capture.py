"""Change capture with triggers generated from a service's metadata, and the rows of a database.

Each content table has a virtual column `_row` with the row as one JSON object. Triggers use it to record (table, key,
before, after); the middleware adds actor and time in the same transaction. SQLite parses the schema whenever a file is
opened, so the triggers are short. The column `_in_base` marks the rows of a base until they change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, MetaData, Table

from companyos_shared.framework.columns import format_time
from companyos_shared.framework.storage import sqlite_connection
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change, Rows

SEARCHED = "searched"
"""Key in a table's `info` for the names of the searched columns."""

_RecordedRow = tuple[int, str, str, str | None, str | None]
_BEFORE, _AFTER = 3, 4
_SELECT_UNSTAMPED = "SELECT seq, tbl, key, before, after FROM _changes WHERE seq > ? ORDER BY seq"
_ALL_ROWS = (
    "SELECT json_group_object(CAST(key AS TEXT), json(_row)) "
    "FROM (SELECT {key} AS key, _row FROM {table} WHERE _in_base = 0 ORDER BY 1)"
)
_UPDATE_STAMP = "UPDATE _changes SET step = ?, at = ?, actor = ?, cause = ? WHERE seq > ?"
_DELETE_CHANGE = "DELETE FROM _changes WHERE seq = ?"
_SELECT_STAMPED = "SELECT seq, tbl, key, before, after, step, at, actor, cause FROM _changes WHERE seq > ? ORDER BY seq"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStamp:
    """Step, time and actor of changes. `cause` is the op id of the agent's call that caused them, if any."""

    step: int
    at: datetime
    actor: Actor
    cause: str | None


def row_column_sql(metadata: MetaData) -> list[str]:
    """Return the SQL that adds the internal columns to every content table."""
    return [
        f"ALTER TABLE {_quote(table)} ADD COLUMN {column}"
        for table in metadata.sorted_tables
        for column in (
            f'"_row" TEXT GENERATED ALWAYS AS ({_row_json(table)}) VIRTUAL',
            '"_in_base" INTEGER NOT NULL DEFAULT 0',
        )
    ]


def strip_sql(metadata: MetaData) -> list[str]:
    """Return the SQL that removes triggers and internal columns, so that a copy shows only the content."""
    return [
        statement
        for table in metadata.sorted_tables
        for statement in (
            *(f'DROP TRIGGER IF EXISTS "_{event}_{table.name}"' for event in ("insert", "update", "delete")),
            f'DROP INDEX IF EXISTS "_own_{table.name}"',
            *(f"ALTER TABLE {_quote(table)} DROP COLUMN {column}" for column in ("_row", "_in_base")),
        )
    ]


def base_sql(metadata: MetaData) -> list[str]:
    """Return the SQL that marks all rows as those of a base, indexes the others, and indexes the searched texts."""
    statements = []
    for table in metadata.sorted_tables:
        name, key = _quote(table), _quote(_primary_key(table))
        statements.append(f"UPDATE {name} SET _in_base = 1")  # noqa: S608
        statements.append(f'CREATE INDEX "_own_{table.name}" ON {name} ({key}) WHERE _in_base = 0')
        if SEARCHED in table.info:
            statements += _index_texts(table)
    return statements


def search_table(table: Table) -> str:
    """Return the name of the index of a table's texts in a base."""
    return f"_search_{table.name}"


def _index_texts(table: Table) -> list[str]:
    index = search_table(table)
    texts = " || ' ' || ".join(f"coalesce({_text_sql(table.columns[name])}, '')" for name in table.info[SEARCHED])
    return [
        f"CREATE VIRTUAL TABLE {index} USING fts5(text, content='', tokenize='unicode61 remove_diacritics 2')",
        f"INSERT INTO {index} (rowid, text) SELECT rowid, {texts} FROM {_quote(table)}",  # noqa: S608
    ]


def _text_sql(column: Column[Any]) -> str:
    """Return the SQL of a column's text. For a JSON column it is the values, because JSON escapes non-ASCII letters."""
    name, value = _quote(column), "CASE WHEN type IN ('true', 'false') THEN type ELSE value END"
    return f"(SELECT group_concat({value}, ' ') FROM json_each({name}))" if isinstance(column.type, JSON) else name  # noqa: S608


def trigger_sql(metadata: MetaData, *, has_base: bool = False) -> list[str]:
    """Return the SQL of the triggers that record inserts, updates and deletes of every content table.

    With a base, an update also clears the row's `_in_base`. No trigger fires itself.
    """
    return [statement for table in metadata.sorted_tables for statement in _triggers_of(table, has_base=has_base)]


def stamp_changes(db: Connection, after: int, stamp: ChangeStamp) -> list[Change]:
    """Stamp the changes since `after` and return them; updates that changed nothing are deleted."""
    driver = sqlite_connection(db)
    rows: list[_RecordedRow] = driver.execute(_SELECT_UNSTAMPED, (after,)).fetchall()
    kept = [row for row in rows if row[_BEFORE] != row[_AFTER]]
    if len(kept) < len(rows):
        driver.executemany(_DELETE_CHANGE, [row[:1] for row in rows if row[_BEFORE] == row[_AFTER]])
    if kept:
        driver.execute(_UPDATE_STAMP, (stamp.step, format_time(stamp.at), stamp.actor.value, stamp.cause, after))
    return [_change(row, stamp) for row in kept]


def read_changes(db: Connection, after: int = 0) -> list[Change]:
    """Return the stamped changes since `after`, oldest first."""
    return [
        _change(recorded, ChangeStamp(step=step, at=datetime.fromisoformat(at), actor=Actor(actor), cause=cause))
        for *recorded, step, at, actor, cause in sqlite_connection(db).execute(_SELECT_STAMPED, (after,))
    ]


def _change(recorded: Sequence[Any], stamp: ChangeStamp) -> Change:
    seq, table, key, before, after = recorded
    return Change(
        seq=seq,
        step=stamp.step,
        at=stamp.at,
        actor=stamp.actor,
        cause=stamp.cause,
        table=table,
        key=key,
        before=None if before is None else json.loads(before),
        after=None if after is None else json.loads(after),
    )


def read_rows(db: Connection, metadata: MetaData) -> Rows:
    """Return all content rows by table and key, in the format of changes, without unchanged rows of a base."""
    rows: Rows = json.loads(read_rows_json(db, metadata))
    return rows


def read_rows_json(db: Connection, metadata: MetaData) -> str:
    """Return the rows of `read_rows` as one JSON object."""
    driver = sqlite_connection(db)
    tables = (f'"{name}":{driver.execute(query).fetchone()[0]}' for name, query in _row_queries(metadata))
    return f"{{{','.join(tables)}}}"


@lru_cache
def _row_queries(metadata: MetaData) -> tuple[tuple[str, str], ...]:
    """Return (table name, query) pairs; each query returns the rows of the table by key, as one JSON object."""
    return tuple(
        (table.name, _ALL_ROWS.format(key=_quote(_primary_key(table)), table=_quote(table)))
        for table in metadata.sorted_tables
    )


def revert_changes(rows: Rows, changes: Sequence[Change]) -> Rows:
    """Return the rows as they were before the changes; raises ValueError if the changes do not lead to `rows`."""
    initial = {table: dict(table_rows) for table, table_rows in rows.items()}
    for change in reversed(changes):
        if initial[change.table].pop(change.key, None) != change.after:
            raise ValueError(f"change {change.seq} of {change.table} {change.key} does not lead to the rows")
        if change.before is not None:
            initial[change.table][change.key] = change.before
    return initial


def _triggers_of(table: Table, *, has_base: bool) -> list[str]:
    key = _quote(_primary_key(table))
    leave_base = f" UPDATE {_quote(table)} SET _in_base = 0 WHERE {key} = NEW.{key} AND _in_base;"  # noqa: S608
    cases = (
        ("INSERT", f"NEW.{key}", "NULL", "NEW._row"),
        ("UPDATE", f"NEW.{key}", "OLD._row", "NEW._row"),
        ("DELETE", f"OLD.{key}", "OLD._row", "NULL"),
    )
    return [
        f'CREATE TRIGGER "_{event.lower()}_{table.name}" AFTER {event} ON {_quote(table)} BEGIN '  # noqa: S608
        f"INSERT INTO _changes (tbl, key, before, after) VALUES ('{table.name}', {row_key}, {before}, {after});"
        f"{leave_base if has_base and event == 'UPDATE' else ''} END"
        for event, row_key, before, after in cases
    ]


def _row_json(table: Table) -> str:
    members = ", ".join(f"'{column.name}', {_value_sql(column)}" for column in table.columns)
    return f"json_object({members})"


def _value_sql(column: Column[object]) -> str:
    name = _quote(column)
    if isinstance(column.type, JSON):
        return f"json({name})"
    if isinstance(column.type, Boolean):
        return f"json(CASE {name} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
    return name


def _primary_key(table: Table) -> Column[object]:
    columns = list(table.primary_key.columns)
    if len(columns) != 1:
        raise ValueError(f"table {table.name} needs exactly one primary key column, it has {len(columns)}")
    return columns[0]


def _quote(named: Table | Column[object]) -> str:
    return '"' + named.name.replace('"', '""') + '"'
