"""Statements that are compiled once and executed by the driver, because SQLAlchemy takes more time than SQLite."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json, to_jsonable_python
from sqlalchemy import Connection, Select, Table
from sqlalchemy.dialects import sqlite

from companyos_shared.framework.storage import sqlite_connection

_Conversion = Callable[[Any], Any] | None
_Column = tuple[str, _Conversion]
_DIALECT = sqlite.dialect(paramstyle="named", json_deserializer=from_json)
_POSITIONAL = sqlite.dialect(paramstyle="qmark", json_serializer=json.JSONEncoder(default=to_jsonable_python).encode)


class FixedSelect:
    """A select with named text and number parameters, compiled on its first execution."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement

    def rows(self, db: Connection, **parameters: str | int) -> list[dict[str, Any]]:
        """Return the values of each row by column."""
        sql, constants, columns = self._compiled
        return [
            {
                name: value if convert is None else convert(value)
                for (name, convert), value in zip(columns, row, strict=True)
            }
            for row in sqlite_connection(db).execute(sql, constants | parameters)
        ]

    def row(self, db: Connection, **parameters: str | int) -> dict[str, Any] | None:
        """Return the first row, or None if there is none."""
        rows = self.rows(db, **parameters)
        return rows[0] if rows else None

    @cached_property
    def _compiled(self) -> tuple[str, dict[str, Any], list[_Column]]:
        """The SQL, its constant parameters, and the columns with the conversions of their values."""
        compiled = self._statement.compile(dialect=_DIALECT)
        constants: dict[str, Any] = {name: value for name, value in compiled.params.items() if value is not None}
        columns: list[_Column] = [
            (column.name, column.type.dialect_impl(_DIALECT).result_processor(_DIALECT, None))
            for column in self._statement.selected_columns
        ]
        return str(compiled), constants, columns


def insert_rows(db: Connection, table: Table, rows: Sequence[BaseModel]) -> None:
    """Insert rows of one model class, whose fields are columns. Their serializers are not applied.

    Raises sqlite3.IntegrityError or OverflowError.
    """
    if rows:
        sql, columns = _compile_insert(table, tuple(type(rows[0]).model_fields))
        values = [
            [getattr(row, name) if convert is None else convert(getattr(row, name)) for name, convert in columns]
            for row in rows
        ]
        sqlite_connection(db).executemany(sql, values)


@lru_cache
def _compile_insert(table: Table, names: tuple[str, ...]) -> tuple[str, list[_Column]]:
    """Return the SQL, and its columns in parameter order with the conversions of their values."""
    compiled = table.insert().values(dict.fromkeys(names)).compile(dialect=_POSITIONAL)
    columns = [table.columns[name] for name in compiled.positiontup or ()]
    conversions = [column.type.dialect_impl(_POSITIONAL).bind_processor(_POSITIONAL) for column in columns]
    return str(compiled), [(column.name, convert) for column, convert in zip(columns, conversions, strict=True)]
