"""Arguments of a call: choices in any spelling, and error messages for those that violate the tool's JSON Schema."""

from __future__ import annotations

from typing import Any

import fastjsonschema
import pytest

from companyos_gateway.engine.argument_errors import MAX_VALUE_CHARS
from companyos_gateway.engine.json_schemas import normalize_choices
from companyos_gateway.engine.toolbox import InvalidArgumentsError, Tool

KIND = {"type": "string", "enum": ["contract", "invoice"]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "maxLength": 8, "pattern": "^[A-Z]+-[0-9]+$"},
        "kind": KIND,
        "other_kind": {"anyOf": [KIND, {"type": "null"}]},
        "minutes": {"type": "integer", "minimum": 1, "maximum": 480},
        "amount": {"type": "number", "minimum": 0},
        "value": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
        "name": {"type": "string", "minLength": 1},
        "size": {"type": ["string", "null"], "enum": ["big", "small", None]},
        "weight": {"type": ["integer", "null"], "minimum": 0.0, "maximum": 1000.0},
        "fields": {"type": "object", "properties": {"seats": {"type": "integer"}}, "additionalProperties": False},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 1},
    },
    "required": ["key"],
    "additionalProperties": False,
}
ACCEPTED = ", ".join(sorted(SCHEMA["properties"]))
TOOL = Tool("desk_add", "Add.", SCHEMA, fastjsonschema.compile(SCHEMA, use_default=False))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "key is required"),
        ({"kee": "A-1"}, f'key is required, and arguments contains unknown "kee"; accepted: {ACCEPTED}'),
        ([], "arguments must be an object; got []"),
        ({"key": "A-1", "fields": {"rooms": 1, "b": 2}}, 'fields contains unknown "rooms", "b"; accepted: seats'),
        ({"key": 7}, "key must be a string; got 7"),
        ({"key": "a-1"}, 'key must match the pattern ^[A-Z]+-[0-9]+$; got "a-1"'),
        ({"key": "ABCDEFG-1"}, "key must have at most 8 characters; got 9"),
        ({"key": "A-1", "kind": "credit_note"}, 'kind must be one of contract, invoice; got "credit_note"'),
        ({"key": "A-1", "other_kind": "bill"}, 'other_kind must be one of contract, invoice; got "bill"'),
        ({"key": "A-1", "minutes": 0}, "minutes must be between 1 and 480; got 0"),
        ({"key": "A-1", "minutes": "soon"}, 'minutes must be an integer; got "soon"'),
        ({"key": "A-1", "name": ""}, "name must have at least 1 character; got 0"),
        ({"key": "A-1", "size": "huge"}, 'size must be one of big, small; got "huge"'),
        ({"key": "A-1", "weight": "heavy"}, 'weight must be an integer; got "heavy"'),
        ({"key": "A-1", "weight": 5000}, "weight must be between 0 and 1000; got 5000"),
        ({"key": "A-1", "amount": -5}, "amount must be at least 0; got -5"),
        ({"key": "A-1", "value": True}, "value must be a string or be a number; got true"),
        ({"key": "A-1", "fields": {"seats": "ten"}}, 'fields.seats must be an integer; got "ten"'),
        ({"key": "A-1", "fields": {"rooms": 1}}, 'fields contains unknown "rooms"; accepted: seats'),
        ({"key": "A-1", "tags": ["a", 2]}, "tags must have at most 1 item; got 2"),
        ({"key": "A-1", "tags": [2]}, "tags.0 must be a string; got 2"),
    ],
)  # fmt: skip
def test_a_message_names_the_argument_the_value_and_the_accepted_values(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentsError) as raised:
        TOOL.check(arguments)
    assert str(raised.value) == message


def test_a_message_names_the_rejected_values_of_a_negated_enum() -> None:
    assert _message({"key": {"type": "string", "not": {"enum": [".", ".."]}}}, {"key": ".."}) == (
        'key must not be "." or ".."; got ".."'
    )


@pytest.mark.parametrize(("arguments", "given"), [({}, 0), ({"minutes": 5, "until": "noon"}, 2)])
def test_a_message_names_the_alternatives_of_which_one_is_required(arguments: dict[str, Any], given: int) -> None:
    properties = {"minutes": {"type": "integer"}, "until": {"type": "string"}}
    message = _message(properties, arguments, minProperties=1, maxProperties=1)
    assert message == f"arguments must contain exactly one of minutes, until; got {given}"


def test_a_message_names_the_unknown_argument_beside_the_one_that_is_required() -> None:
    rules = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    message = _message({"minutes": {"type": "integer"}}, {"minutes": 5, "hours": 1}, **rules)
    assert message == 'arguments contains unknown "hours"; accepted: minutes'


def _message(properties: dict[str, Any], arguments: dict[str, Any], **rules: Any) -> str:
    schema = {"type": "object", "properties": properties, **rules}
    with pytest.raises(InvalidArgumentsError) as raised:
        Tool("desk_add", "Add.", schema, fastjsonschema.compile(schema, use_default=False)).check(arguments)
    return str(raised.value)


def test_a_long_value_is_truncated() -> None:
    with pytest.raises(InvalidArgumentsError) as raised:
        TOOL.check({"key": "A-1", "kind": "x" * 10_000})
    assert len(str(raised.value)) < 3 * MAX_VALUE_CHARS


TIER = {"type": "string", "enum": ["low", "very_high"]}


@pytest.mark.parametrize(
    ("schema", "given", "spelled"),
    [
        (TIER, "LOW", "low"),
        (TIER, "Very high", "very_high"),
        (TIER, "other", "other"),
        (TIER, 3, 3),
        (TIER, None, None),
        ({"type": "string"}, "LOW", "LOW"),
        ({"type": "string", "enum": ["LOW", "low"]}, "LOW", "LOW"),
        ({"anyOf": [{"type": "integer"}, TIER]}, "Low", "low"),
        ({"allOf": [TIER, {"minLength": 1}]}, "Low", "low"),
        ({"type": "array", "items": TIER}, ["Low", "x", 1], ["low", "x", 1]),
        (
            {"type": "object", "properties": {"tier": TIER}},
            {"tier": "Low", "more": "Low"},
            {"tier": "low", "more": "Low"},
        ),
        ({"type": "object", "additionalProperties": TIER}, {"tier": "Low"}, {"tier": "low"}),
        ({"type": "object", "additionalProperties": False}, {"tier": "Low"}, {"tier": "Low"}),
        (
            {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"tier": TIER}}]},
            {"tier": "Low"},
            {"tier": "low"},
        ),
    ],
)
def test_a_choice_gets_the_spelling_of_the_schema(schema: dict[str, Any], given: Any, spelled: Any) -> None:
    assert normalize_choices(given, schema) == spelled
