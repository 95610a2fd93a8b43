"""Selects that are compiled once and executed by the driver: for one row, SQLAlchemy costs more than SQLite."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Select
from sqlalchemy.dialects import sqlite

from companyos_shared.framework.storage import sqlite_connection

_Column = tuple[str, Callable[[Any], Any] | None]
_DIALECT = sqlite.dialect(paramstyle="named")


class FixedSelect:
    """A select whose parameters, texts and numbers, are passed by name. It is compiled when it is first executed."""

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
        """Return the only row, None without one."""
        rows = self.rows(db, **parameters)
        return rows[0] if rows else None

    @cached_property
    def _compiled(self) -> tuple[str, dict[str, Any], list[_Column]]:
        """The SQL, its own parameters, and the columns with the conversions of their values."""
        compiled = self._statement.compile(dialect=_DIALECT)
        constants: dict[str, Any] = {name: value for name, value in compiled.params.items() if value is not None}
        columns: list[_Column] = [
            (column.name, column.type.dialect_impl(_DIALECT).result_processor(_DIALECT, None))
            for column in self._statement.selected_columns
        ]
        return str(compiled), constants, columns
