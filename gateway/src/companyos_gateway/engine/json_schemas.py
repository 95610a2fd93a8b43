"""The tools' JSON Schemas: published to agents with references inlined, and choices normalized on input."""

from __future__ import annotations

from typing import Any

from companyos_shared.choices import fold_choice

_DROPPED_KEYWORDS = frozenset(
    {"title", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "$defs"}
)
_REFERENCE = "#/"
_MAX_DEPTH = 24


def to_public_schema(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return the schema for agents, with references inlined and without null alternatives."""
    return _compact(schema, document, keep_null=False, depth=0)


def to_validation_schema(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return the schema for validation, with null alternatives; `format` is dropped, because the services check it."""
    return _compact(schema, document, keep_null=True, depth=0)


def make_nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that also accepts null."""
    if not isinstance(schema.get("type"), str):
        return {"anyOf": [schema, {"type": "null"}]}
    widened = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        widened["enum"] = [*schema["enum"], None]
    return widened


def _compact(schema: dict[str, Any], document: dict[str, Any], *, keep_null: bool, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise ValueError("a schema refers to itself")
    schema = _resolve_references(schema, document)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return _union(schema, options, document, keep_null=keep_null, depth=depth)
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _DROPPED_KEYWORDS or (keep_null and keyword in ("format", "description")):
            continue
        result[keyword] = _compact_keyword(keyword, value, document, keep_null=keep_null, depth=depth)
    if "const" in result:
        result["enum"] = [result.pop("const")]
    return result


def _compact_keyword(keyword: str, value: Any, document: dict[str, Any], *, keep_null: bool, depth: int) -> Any:
    if keyword == "properties":
        return {name: _compact(part, document, keep_null=keep_null, depth=depth + 1) for name, part in value.items()}
    if keyword in ("items", "additionalProperties") and isinstance(value, dict):
        return _compact(value, document, keep_null=keep_null, depth=depth + 1)
    return value


def _union(
    schema: dict[str, Any], options: list[dict[str, Any]], document: dict[str, Any], *, keep_null: bool, depth: int
) -> dict[str, Any]:
    parts = [_compact(part, document, keep_null=keep_null, depth=depth + 1) for part in options]
    non_null = [part for part in parts if part.get("type") != "null"]
    annotation = {} if keep_null or "description" not in schema else {"description": schema["description"]}
    if len(non_null) == 1:
        return make_nullable(non_null[0]) if keep_null and len(parts) > 1 else {**non_null[0], **annotation}
    return {"anyOf": parts if keep_null else non_null, **annotation}


def _resolve_references(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    for _ in range(_MAX_DEPTH):
        single = schema.get("allOf")
        if single and len(single) == 1:
            schema = {**single[0], **{keyword: value for keyword, value in schema.items() if keyword != "allOf"}}
        reference = schema.get("$ref")
        if reference is None:
            return schema
        resolved: Any = document
        for part in reference.removeprefix(_REFERENCE).split("/"):
            resolved = resolved[part]
        target = {keyword: value for keyword, value in resolved.items() if keyword != "description"}
        schema = {**target, **{keyword: value for keyword, value in schema.items() if keyword != "$ref"}}
    raise ValueError("a schema refers to itself")


def normalize_choices(value: Any, schema: dict[str, Any]) -> Any:
    """Return a value with every choice spelled as in the schema; values that match no choice are unchanged."""
    if isinstance(value, str):
        return _normalize_choice(value, schema)
    if isinstance(value, dict):
        return {name: normalize_choices(part, _property_schema(name, schema)) for name, part in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        return [normalize_choices(part, items) for part in value] if isinstance(items, dict) else value
    return value


def _normalize_choice(value: str, schema: dict[str, Any]) -> str:
    choices = schema.get("enum", ())
    if value not in choices:
        folded = fold_choice(value)
        for choice in choices:
            if isinstance(choice, str) and fold_choice(choice) == folded:
                return choice
        for part in _subschemas(schema):
            normalized = _normalize_choice(value, part)
            if normalized != value:
                return normalized
    return value


def _property_schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a member of an object, or an empty schema if there is none."""
    for candidate in (schema, *_subschemas(schema)):
        property_schema = candidate.get("properties", {}).get(name, candidate.get("additionalProperties"))
        if isinstance(property_schema, dict):
            return property_schema
    return {}


def _subschemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for keyword in ("anyOf", "oneOf", "allOf") for part in schema.get(keyword, ())]
