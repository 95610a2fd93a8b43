"""Column types for simulated times and dates."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Float, Integer, MetaData, Text
from sqlalchemy.types import TypeDecorator

_TO_SECONDS = len("2026-03-02T09:15:00")


def format_time(moment: datetime) -> str:
    """Return an aware datetime as text in UTC with whole seconds: `2026-03-02T09:15:00Z`."""
    return f"{moment.astimezone(UTC).isoformat()[:_TO_SECONDS]}Z"


class SimTime(TypeDecorator[datetime]):
    """A simulated time, stored as ISO text that sorts by time."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> str | None:
        """Convert an aware datetime to text."""
        return None if value is None else format_time(value)

    def process_result_value(self, value: str | None, dialect: Any) -> datetime | None:
        """Convert text to an aware datetime."""
        return None if value is None else datetime.fromisoformat(value)


class SimDate(TypeDecorator[date]):
    """A calendar day, stored as `2026-03-02`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: date | None, dialect: Any) -> str | None:
        """Convert a date to text."""
        return None if value is None else value.isoformat()

    def process_result_value(self, value: str | None, dialect: Any) -> date | None:
        """Convert text to a date."""
        return None if value is None else date.fromisoformat(value)


def row_schemas(metadata: MetaData) -> dict[str, Any]:
    """Return the JSON Schema of each table's rows in change sets and evidence."""
    return {
        table.name: {
            "type": "object",
            "properties": {column.name: _column_schema(column) for column in table.columns},
            "required": [column.name for column in table.columns],
            "additionalProperties": False,
        }
        for table in metadata.sorted_tables
    }


def _column_schema(column: Column[Any]) -> dict[str, Any]:
    kind = _json_type(column)
    if "type" in kind and column.nullable:
        return {**kind, "type": [kind["type"], "null"]}
    return kind


def _json_type(column: Column[Any]) -> dict[str, Any]:
    if isinstance(column.type, JSON):
        return {}
    if isinstance(column.type, Boolean):
        return {"type": "boolean"}
    if isinstance(column.type, Integer):
        return {"type": "integer"}
    if isinstance(column.type, Float):
        return {"type": "number"}
    if isinstance(column.type, SimTime):
        return {"type": "string", "format": "date-time"}
    if isinstance(column.type, SimDate):
        return {"type": "string", "format": "date"}
    return {"type": "string"}
