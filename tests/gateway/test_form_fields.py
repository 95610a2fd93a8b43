"""Form fields from tool schemas, and calls from submitted forms."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.ui.playground.form_fields import FieldKind, InvalidFieldError, parse_arguments, parse_fields

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer"},
        "key": {"type": "string", "description": "Which one."},
        "rate": {"type": "number"},
        "status": {"type": "string", "enum": ["open", "closed"]},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "answers": {"type": "object"},
        "day": {"type": "string", "format": "date"},
    },
    "required": ["key"],
}
NAMES = ["key", "limit", "rate", "status", "deep", "tags", "answers", "day"]


def test_required_arguments_are_listed_first_and_marked() -> None:
    fields = parse_fields(SCHEMA)
    assert [field.name for field in fields] == NAMES
    assert [field.label for field in fields][:2] == ["key *", "limit (number)"]
    assert [field.hint for field in fields][:2] == ["Which one.", ""]
    assert {field.name: field.kind for field in fields} == {
        "key": FieldKind.TEXT,
        "limit": FieldKind.NUMBER,
        "rate": FieldKind.NUMBER,
        "status": FieldKind.CHOICE,
        "deep": FieldKind.BOOLEAN,
        "tags": FieldKind.STRING_LIST,
        "answers": FieldKind.JSON,
        "day": FieldKind.TEXT,
    }


def test_a_completed_form_is_parsed_as_arguments() -> None:
    raw = ("OPS-1", "2", "0.5", "open", "false", "one\n\n two ", '{"a": 1}', "2027-05-31")
    assert parse_arguments(parse_fields(SCHEMA), raw) == {
        "key": "OPS-1",
        "limit": 2,
        "rate": 0.5,
        "status": "open",
        "deep": False,
        "tags": ["one", "two"],
        "answers": {"a": 1},
        "day": "2027-05-31",
    }


def test_empty_fields_are_omitted() -> None:
    assert parse_arguments(parse_fields(SCHEMA), (None, "", " ", None, "", "", "", "")) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("limit", "many"),
        ("limit", "1.5"),
        ("limit", "100000000000000000"),
        ("rate", "x"),
        ("rate", "inf"),
        ("deep", "yes"),
        ("answers", "{"),
        ("answers", '{"a": NaN}'),
        ("answers", "[" * 200_000),
        ("tags", "a" * 70_000),
    ],
)
def test_an_invalid_field_is_named(name: str, text: str) -> None:
    raw = tuple(text if one == name else None for one in NAMES)
    with pytest.raises(InvalidFieldError, match=f"^{name} must be"):
        parse_arguments(parse_fields(SCHEMA), raw)
