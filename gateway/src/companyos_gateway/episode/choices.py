"""Arguments before they are checked: choices in any letter case become those of the schema."""

from __future__ import annotations

from typing import Any

from companyos_shared.choices import fold_choice


def with_choices(value: Any, schema: dict[str, Any]) -> Any:
    """Return a value in which every choice has the spelling of the schema; what fits no choice stays as it is."""
    if isinstance(value, str):
        return _chosen(value, schema)
    if isinstance(value, dict):
        return {name: with_choices(part, _member(name, schema)) for name, part in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [with_choices(part, items) for part in value] if isinstance(items, dict) else value
    return value


def _chosen(value: str, schema: dict[str, Any]) -> str:
    choices = schema.get("enum", ())
    if value not in choices:
        folded = fold_choice(value)
        for choice in choices:
            if isinstance(choice, str) and fold_choice(choice) == folded:
                return choice
        for part in _parts(schema):
            found = _chosen(value, part)
            if found != value:
                return found
    return value


def _member(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a member of an object, an empty one where there is none."""
    for one in (schema, *_parts(schema)):
        found = one.get("properties", {}).get(name, one.get("additionalProperties"))
        if isinstance(found, dict):
            return found
    return {}


def _parts(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, ())]
