"""The arguments of a tool as fields of a form: what each one asks for, and the value of what was written into it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from companyos_shared.wire.strict_json import parse_object

_NUMBERS = {"integer": int, "number": float}
_LONG_TEXT = 512
_PLACEHOLDERS = {"date": "2027-05-31", "date-time": "2027-05-31T09:55:00Z"}


class FieldMisfit(ValueError):
    """What was written is none of what the field asks for; the message names the field."""


class Kind(StrEnum):
    """How a field is filled in."""

    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    YES_OR_NO = "yes or no"
    LINES = "one per line"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class Field:
    """One argument."""

    name: str
    kind: Kind
    required: bool
    schema: dict[str, Any]

    @property
    def label(self) -> str:
        """What stands above the field."""
        told = "" if self.kind in (Kind.TEXT, Kind.CHOICE) else f" ({self.kind.value})"
        return f"{self.name}{told}{' *' if self.required else ''}"

    @property
    def hint(self) -> str:
        """What stands below the label."""
        return str(self.schema.get("description", ""))

    @property
    def placeholder(self) -> str:
        """What an empty field shows."""
        return _PLACEHOLDERS.get(self.schema.get("format", ""), "" if self.required else "may be left out")

    @property
    def choices(self) -> list[str]:
        """What can be chosen."""
        return ["true", "false"] if self.kind is Kind.YES_OR_NO else [str(one) for one in self.schema.get("enum", ())]

    @property
    def lines(self) -> int:
        """How many lines the field is high."""
        is_long = self.kind is Kind.TEXT and self.schema.get("maxLength", 0) > _LONG_TEXT
        return 3 if is_long or self.kind in (Kind.LINES, Kind.JSON) else 1

    def value(self, written: str) -> Any:
        """Return the value of what was written; raises FieldMisfit, also for what a message in JSON would not carry."""
        try:
            value = self._value(written)
            parse_object(json.dumps({self.name: value}))
        except (ValueError, RecursionError):
            raise FieldMisfit(f"{self.name}: {written!r} is no {self.schema.get('type', self.kind.value)}") from None
        return value

    def _value(self, written: str) -> Any:
        match self.kind:
            case Kind.NUMBER:
                return _NUMBERS[self.schema["type"]](written)
            case Kind.YES_OR_NO:
                return bool(["false", "true"].index(written))
            case Kind.LINES:
                return [line.strip() for line in written.splitlines() if line.strip()]
            case Kind.JSON:
                return json.loads(written)
        return written


def fields_of(input_schema: dict[str, Any]) -> list[Field]:
    """Return the fields of a tool, those that it needs first."""
    needed = set(input_schema.get("required", ()))
    fields = [
        Field(name, _kind(schema), name in needed, schema)
        for name, schema in input_schema.get("properties", {}).items()
    ]
    return sorted(fields, key=lambda field: not field.required)


def arguments_of(fields: list[Field], written: tuple[str | None, ...]) -> dict[str, Any]:
    """Return the arguments that were filled in; what was left empty is left out. Raises FieldMisfit."""
    filled = zip(fields, (text or "" for text in written), strict=True)
    return {field.name: field.value(text) for field, text in filled if text.strip()}


def _kind(schema: dict[str, Any]) -> Kind:
    if "enum" in schema:
        return Kind.CHOICE
    match schema.get("type"):
        case "integer" | "number":
            return Kind.NUMBER
        case "boolean":
            return Kind.YES_OR_NO
        case "array" if schema.get("items", {}).get("type") == "string":
            return Kind.LINES
        case "string":
            return Kind.TEXT
    return Kind.JSON
