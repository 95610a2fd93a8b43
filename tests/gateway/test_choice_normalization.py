"""Normalization of arguments before validation: choices get the schema's spelling, all else is unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.engine.json_schemas import normalize_choices

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
