"""Form fields for the arguments of a tool, and the conversion of their input."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from companyos_shared.wire.strict_json import parse_object

_NUMBERS = {"integer": int, "number": float}
_LONG_TEXT = 512
_PLACEHOLDERS = {"date": "2027-05-31", "date-time": "2027-05-31T09:55:00Z"}


class InvalidFieldError(ValueError):
    """Raised for invalid input; the message names the field."""


class FieldKind(StrEnum):
    """Kinds of form fields."""

    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    BOOLEAN = "yes or no"
    STRING_LIST = "one per line"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class FormField:
    """The form field of an argument."""

    name: str
    kind: FieldKind
    required: bool
    schema: dict[str, Any]

    @property
    def label(self) -> str:
        """The label above the field."""
        suffix = "" if self.kind in (FieldKind.TEXT, FieldKind.CHOICE) else f" ({self.kind.value})"
        return f"{self.name}{suffix}{' *' if self.required else ''}"

    @property
    def hint(self) -> str:
        """The description below the label."""
        return str(self.schema.get("description", ""))

    @property
    def placeholder(self) -> str:
        """The placeholder of the empty field."""
        return _PLACEHOLDERS.get(self.schema.get("format", ""), "" if self.required else "optional")

    @property
    def choices(self) -> list[str]:
        """The options of a choice or boolean field."""
        return (
            ["true", "false"]
            if self.kind is FieldKind.BOOLEAN
            else [str(option) for option in self.schema.get("enum", ())]
        )

    @property
    def lines(self) -> int:
        """The height of the field in lines."""
        is_long = self.kind is FieldKind.TEXT and self.schema.get("maxLength", 0) > _LONG_TEXT
        return 3 if is_long or self.kind in (FieldKind.STRING_LIST, FieldKind.JSON) else 1

    def value(self, raw: str) -> Any:
        """Return the value of an input; raises InvalidFieldError, also for values that JSON messages do not allow."""
        try:
            value = self._value(raw)
            parse_object(json.dumps({self.name: value}))
        except (ValueError, RecursionError):
            raise InvalidFieldError(
                f"{self.name} must be of type {self.schema.get('type', self.kind.value)}; got {raw!r}"
            ) from None
        return value

    def _value(self, raw: str) -> Any:
        match self.kind:
            case FieldKind.NUMBER:
                return _NUMBERS[self.schema["type"]](raw)
            case FieldKind.BOOLEAN:
                return bool(["false", "true"].index(raw))
            case FieldKind.STRING_LIST:
                return [line.strip() for line in raw.splitlines() if line.strip()]
            case FieldKind.JSON:
                return json.loads(raw)
        return raw


def parse_fields(input_schema: dict[str, Any]) -> list[FormField]:
    """Return the fields of a tool, required ones first."""
    required = set(input_schema.get("required", ()))
    fields = [
        FormField(name, _field_kind(schema), name in required, schema)
        for name, schema in input_schema.get("properties", {}).items()
    ]
    return sorted(fields, key=lambda field: not field.required)


def parse_arguments(fields: list[FormField], raw: tuple[str | None, ...]) -> dict[str, Any]:
    """Return the arguments without empty fields; raises InvalidFieldError."""
    filled = zip(fields, (text or "" for text in raw), strict=True)
    return {field.name: field.value(text) for field, text in filled if text.strip()}


def _field_kind(schema: dict[str, Any]) -> FieldKind:
    if "enum" in schema:
        return FieldKind.CHOICE
    match schema.get("type"):
        case "integer" | "number":
            return FieldKind.NUMBER
        case "boolean":
            return FieldKind.BOOLEAN
        case "array" if schema.get("items", {}).get("type") == "string":
            return FieldKind.STRING_LIST
        case "string":
            return FieldKind.TEXT
    return FieldKind.JSON
