"""Messages for invalid tool calls: the tool or argument that is wrong, its value, and the accepted values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import fastjsonschema

MAX_VALUE_CHARS = 80
"""Longer values are truncated in messages."""

_TYPE_NAMES = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_SIZES = {
    "minLength": "at least {} character{}",
    "maxLength": "at most {} character{}",
    "minItems": "at least {} item{}",
    "maxItems": "at most {} item{}",
    "minProperties": "at least {} member{}",
    "maxProperties": "at most {} member{}",
}

_WITHOUT_VALUE = frozenset({"missing", "extra_forbidden", "json_invalid"})
"""Types of Pydantic errors that are not about a value."""


def describe_unknown_tool(name: str, known: Sequence[str]) -> str:
    """Return `No tool is named "datahub_list_policies".` and up to three known names that are similar."""
    similar = get_close_matches(name[:MAX_VALUE_CHARS], known)
    hint = f" Similar names: {', '.join(similar)}." if similar else ""
    return f"No tool is named {_shorten(name)}.{hint}"


def describe_violation(error: fastjsonschema.JsonSchemaValueException) -> str:
    """Return one sentence such as `kind must be one of contract, invoice; got "credit_note"`."""
    return _describe(error, [str(part) for part in error.path[1:]])


def _describe(error: fastjsonschema.JsonSchemaValueException, path: list[str]) -> str:
    place, rule, accepted, value = ".".join(path) or "arguments", error.rule, error.rule_definition, error.value
    if rule == "required":
        missing = [".".join([*path, name]) for name in accepted if name not in value]
        text = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} required"
        unknown = _describe_unknown(error, place)
        return f"{text}, and {unknown}" if unknown else text
    if rule == "additionalProperties":
        return _describe_unknown(error, place)
    if rule in ("anyOf", "oneOf"):
        return _describe_alternatives(error, path)
    if rule in ("minProperties", "maxProperties") and _takes_one_member(error.definition):
        accepted = ", ".join(error.definition["properties"])
        return _describe_unknown(error, place) or f"{place} must contain exactly one of {accepted}; got {len(value)}"
    if rule in _SIZES:
        return f"{place} must have {_SIZES[rule].format(accepted, '' if accepted == 1 else 's')}; got {len(value)}"
    return f"{place} must {_requirement(str(rule), error.definition, accepted)}; got {_shorten(value)}"


def _describe_unknown(error: fastjsonschema.JsonSchemaValueException, place: str) -> str:
    """Return the unknown members of an object and the accepted ones, or an empty text if all are known."""
    known = sorted(error.definition.get("properties", {}))
    unknown = [_shorten(name) for name in error.value if name not in known]
    is_closed = error.definition.get("additionalProperties", True) is False
    accepted = ", ".join(known) or "none"
    return f"{place} contains unknown {', '.join(unknown)}; accepted: {accepted}" if unknown and is_closed else ""


def _takes_one_member(schema: dict[str, Any]) -> bool:
    return "properties" in schema and schema.get("minProperties") == schema.get("maxProperties") == 1


def _describe_alternatives(error: fastjsonschema.JsonSchemaValueException, path: list[str]) -> str:
    """Describe the violation of the only alternative other than null, or list the alternatives."""
    alternatives = [schema for schema in error.rule_definition if schema.get("type") != "null"]
    if len(alternatives) == 1:
        try:
            fastjsonschema.validate(alternatives[0], error.value, use_default=False)
        except fastjsonschema.JsonSchemaValueException as inner:
            return _describe(inner, [*path, *map(str, inner.path[1:])])
    options = " or ".join(_requirement("type", schema, schema.get("type", "object")) for schema in alternatives)
    return f"{'.'.join(path) or 'arguments'} must {options}; got {_shorten(error.value)}"


def _requirement(rule: str, schema: dict[str, Any], accepted: Any) -> str:
    if rule == "enum" or "enum" in schema:
        return f"be one of {', '.join(_plain(one) for one in schema.get('enum', accepted) if one is not None)}"
    if rule in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and high is not None:
            return f"be between {low:.15g} and {high:.15g}"
        words = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}
        return f"be {words.get(rule, 'less than')} {accepted:.15g}"
    if rule == "type":
        names = accepted if isinstance(accepted, list) else [accepted]
        return f"be {' or '.join(_TYPE_NAMES[name] for name in names if name != 'null' or len(names) == 1)}"
    if rule == "not" and "enum" in accepted:
        return f"not be {' or '.join(_shorten(one) for one in accepted['enum'])}"
    if rule == "pattern":
        return f"match the pattern {accepted}"
    if rule == "format":
        return f"be a {accepted}"
    return f"fit {rule} {_shorten(accepted)}"


def describe_invalid_value(error: Mapping[str, Any]) -> str:
    """Return the requirement of a Pydantic error, with the value if the error is about one."""
    text = re.sub(r"^\w+ should ", "must ", str(error["msg"]))
    names_value = error["loc"] and error["type"] not in _WITHOUT_VALUE and not isinstance(error["input"], bytes)
    return f"{text}; got {_shorten(error['input'])}" if names_value else text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}..."
