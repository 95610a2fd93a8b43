"""Change sets by triggers generated from a service's metadata, and the digests over its rows.

A trigger writes (table, key, before, after); the edge stamps who and when in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, MetaData, Row, Table

from companyos_shared.chassis.columns import SimTime, time_text
from companyos_shared.streams import digest
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Change, Rows

_WHEN = "WHEN EXISTS (SELECT 1 FROM _meta WHERE key = 'recording')"
_NEW = "SELECT seq, tbl, key, before, after FROM _changes WHERE seq > ? ORDER BY seq"
_STAMP = "UPDATE _changes SET step = ?, at = ?, actor = ?, cause = ? WHERE seq > ?"
_DROP = "DELETE FROM _changes WHERE seq = ?"
_READ = "SELECT seq, tbl, key, before, after, step, at, actor, cause FROM _changes WHERE seq > ? ORDER BY seq"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Who causes changes, and when. `cause` is the op id of the agent's call behind them, if any."""

    step: int
    at: datetime
    actor: Actor
    cause: str | None


def create_triggers(db: Connection, metadata: MetaData) -> None:
    """Make every content table able to record its inserts, updates and deletes."""
    for statement in trigger_statements(metadata):
        db.exec_driver_sql(statement)


def trigger_statements(metadata: MetaData) -> list[str]:
    """Return the SQL of every trigger."""
    return [statement for table in metadata.sorted_tables for statement in _triggers_of(table)]


def start_recording(db: Connection) -> None:
    """Let the triggers record from here on: what was planted before is where an episode starts."""
    db.exec_driver_sql("INSERT INTO _meta (key, value) VALUES ('recording', 'on')")


def stamp_changes(db: Connection, after: int, stamp: Stamp) -> list[Change]:
    """Write who caused the changes since `after` and return them; updates that changed nothing are dropped."""
    rows = db.exec_driver_sql(_NEW, (after,)).all()
    for row in rows:
        if row.before == row.after:
            db.exec_driver_sql(_DROP, (row.seq,))
    kept = [row for row in rows if row.before != row.after]
    if kept:
        db.exec_driver_sql(_STAMP, (stamp.step, time_text(stamp.at), stamp.actor.value, stamp.cause, after))
    return [_change(row, stamp) for row in kept]


def read_changes(db: Connection, after: int = 0) -> list[Change]:
    """Return the stamped changes since `after`, in the order they were made."""
    return [
        _change(row, Stamp(step=row.step, at=datetime.fromisoformat(row.at), actor=Actor(row.actor), cause=row.cause))
        for row in db.exec_driver_sql(_READ, (after,))
    ]


def _change(row: Row[Any], stamp: Stamp) -> Change:
    return Change(
        seq=row.seq,
        step=stamp.step,
        at=stamp.at,
        actor=stamp.actor,
        cause=stamp.cause,
        table=row.tbl,
        key=row.key,
        before=None if row.before is None else json.loads(row.before),
        after=None if row.after is None else json.loads(row.after),
    )


def read_rows(db: Connection, metadata: MetaData) -> Rows:
    """Return every content row by table and key, in the form that changes have."""
    return {
        table.name: {
            str(key): json.loads(row)
            for key, row in db.exec_driver_sql(
                f"SELECT {_name(_key_of(table))}, {_row_json(table)} FROM {_name(table)} ORDER BY 1"  # noqa: S608
            )
        }
        for table in metadata.sorted_tables
    }


def unfold(rows: Rows, changes: Sequence[Change]) -> Rows:
    """Return the rows as they were before the changes, which led to them; raises ValueError where they did not."""
    found = {table: dict(known) for table, known in rows.items()}
    for change in reversed(changes):
        if found[change.table].pop(change.key, None) != change.after:
            raise ValueError(f"change {change.seq} of {change.table} {change.key} does not lead to the rows")
        if change.before is not None:
            found[change.table][change.key] = change.before
    return found


def content_digest(rows: Rows) -> str:
    """Return the digest of rows: what initial rows and changes must fold to."""
    return digest(rows)


def outcome_digest(rows: Rows, metadata: MetaData) -> str:
    """Return the digest of rows without times and versions: equal for two ways to the same end."""
    ignored = {
        table.name: {column.name for column in table.columns if _is_incidental(column)}
        for table in metadata.sorted_tables
    }
    return digest(
        {
            name: {
                key: {column: value for column, value in row.items() if column not in ignored[name]}
                for key, row in table.items()
            }
            for name, table in rows.items()
        }
    )


def _is_incidental(column: Column[object]) -> bool:
    return isinstance(column.type, SimTime) or column.name == "version"


def _triggers_of(table: Table) -> list[str]:
    old, new = _row_json(table, "OLD"), _row_json(table, "NEW")
    key = _name(_key_of(table))
    cases = (
        ("INSERT", f"NEW.{key}", "NULL", new),
        ("UPDATE", f"NEW.{key}", old, new),
        ("DELETE", f"OLD.{key}", old, "NULL"),
    )
    return [
        f'CREATE TRIGGER "_{event.lower()}_{table.name}" AFTER {event} ON {_name(table)} {_WHEN} BEGIN '  # noqa: S608
        "INSERT INTO _changes (tbl, key, before, after) "
        f"VALUES ('{table.name}', {row_key}, {before}, {after}); END"
        for event, row_key, before, after in cases
    ]


def _row_json(table: Table, alias: str | None = None) -> str:
    members = ", ".join(f"'{column.name}', {_value_sql(column, alias)}" for column in table.columns)
    return f"json_object({members})"


def _value_sql(column: Column[object], alias: str | None) -> str:
    name = _name(column) if alias is None else f"{alias}.{_name(column)}"
    if isinstance(column.type, JSON):
        return f"json({name})"
    if isinstance(column.type, Boolean):
        return f"json(CASE {name} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
    return name


def _key_of(table: Table) -> Column[object]:
    columns = list(table.primary_key.columns)
    if len(columns) != 1:
        raise ValueError(f"table {table.name} needs exactly one primary key column, it has {len(columns)}")
    return columns[0]


def _name(named: Table | Column[object]) -> str:
    return '"' + named.name.replace('"', '""') + '"'
