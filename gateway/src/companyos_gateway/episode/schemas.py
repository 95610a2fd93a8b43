"""JSON Schemas as an agent reads them: references inlined, titles, defaults and examples gone, null left out."""

from __future__ import annotations

from typing import Any

_NOISE = frozenset({"title", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "$defs"})
_REFERENCE = "#/"
_DEEPEST = 24


def published(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return the schema for agents: what may be null is shown as its plain type."""
    return _compact(schema, document, keep_null=False, depth=0)


def enforced(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return the schema for validation: null stays where the service takes it, formats are the service's to judge."""
    return _compact(schema, document, keep_null=True, depth=0)


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that also takes null."""
    if not isinstance(schema.get("type"), str):
        return {"anyOf": [schema, {"type": "null"}]}
    widened = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        widened["enum"] = [*schema["enum"], None]
    return widened


def _compact(schema: dict[str, Any], document: dict[str, Any], *, keep_null: bool, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise ValueError("a schema refers to itself")
    schema = _resolved(schema, document)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return _union(schema, options, document, keep_null=keep_null, depth=depth)
    result: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _NOISE or (keep_null and word in ("format", "description")):
            continue
        result[word] = _compact_word(word, value, document, keep_null=keep_null, depth=depth)
    if "const" in result:
        result["enum"] = [result.pop("const")]
    return result


def _compact_word(word: str, value: Any, document: dict[str, Any], *, keep_null: bool, depth: int) -> Any:
    if word == "properties":
        return {name: _compact(part, document, keep_null=keep_null, depth=depth + 1) for name, part in value.items()}
    if word in ("items", "additionalProperties") and isinstance(value, dict):
        return _compact(value, document, keep_null=keep_null, depth=depth + 1)
    return value


def _union(
    schema: dict[str, Any], options: list[dict[str, Any]], document: dict[str, Any], *, keep_null: bool, depth: int
) -> dict[str, Any]:
    parts = [_compact(part, document, keep_null=keep_null, depth=depth + 1) for part in options]
    plain = [part for part in parts if part.get("type") != "null"]
    around = {} if keep_null or "description" not in schema else {"description": schema["description"]}
    if len(plain) == 1:
        return nullable(plain[0]) if keep_null and len(parts) > 1 else {**plain[0], **around}
    return {"anyOf": parts if keep_null else plain, **around}


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    for _ in range(_DEEPEST):
        only = schema.get("allOf")
        if only and len(only) == 1:
            schema = {**only[0], **{word: value for word, value in schema.items() if word != "allOf"}}
        reference = schema.get("$ref")
        if reference is None:
            return schema
        found: Any = document
        for part in reference.removeprefix(_REFERENCE).split("/"):
            found = found[part]
        about_kind = {word: value for word, value in found.items() if word != "description"}
        schema = {**about_kind, **{word: value for word, value in schema.items() if word != "$ref"}}
    raise ValueError("a schema refers to itself")
