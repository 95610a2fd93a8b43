"""JSON Schema of a service's rows, generated from its tables."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Boolean, Column, Float, Integer, MetaData

from companyos_shared.chassis.columns import SimDate, SimTime


def facts_schema(metadata: MetaData) -> dict[str, Any]:
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
