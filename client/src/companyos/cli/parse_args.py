"""What a person types for a tool: words and values become arguments, by the types of the tool's schema."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z0-9_]+)*)=(.*)", re.DOTALL)
_YES, _NO = frozenset({"yes", "y", "true", "1"}), frozenset({"no", "n", "false", "0"})
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)


class InvalidInputError(ValueError):
    """Raised for what was typed and does not fit; the text says why."""


def parse_arguments(schema: Mapping[str, Any], typed: str) -> dict[str, Any]:
    """Return the arguments of a line: a JSON object, or words. Raises Unreadable.

    `name=value` is what it says, `name.part=value` leads into an object, and a word without a name is the next
    argument in the order of the schema. Double quotes hold a value with blanks together.
    """
    if typed.startswith("{"):
        return _parse_json_object(typed)
    properties = schema.get("properties", {})
    unnamed = [*schema.get("required", ()), *(name for name in properties if name not in schema.get("required", ()))]
    arguments: dict[str, Any] = {}
    for word in _split_words(typed):
        found = _ASSIGNMENT.fullmatch(word)
        if found is not None and found[1] in properties:
            _set_path(
                arguments, found[1], found[2], parse_value(properties[found[1]], found[3], is_part=bool(found[2]))
            )
            continue
        name = next((name for name in unnamed if name not in arguments), None)
        if name is None:
            raise InvalidInputError(f"{word!r} is one word too many")
        arguments[name] = parse_value(properties[name], word)
    return arguments


def parse_value(schema: Mapping[str, Any], typed: str, *, is_part: bool = False) -> Any:
    """Return what was typed for an argument, or for a part of one. Raises Unreadable."""
    if is_part:
        return _parse_scalar(typed)
    if "enum" in schema:
        return _parse_choice([str(one) for one in schema["enum"]], typed.strip())
    match schema.get("type"):
        case "integer":
            return _parse_number(typed, "a whole number", is_whole=True)
        case "number":
            return _parse_number(typed, "a number", is_whole=False)
        case "boolean":
            return _parse_flag(typed.strip().lower())
        case "array":
            return _parse_list(schema.get("items", {}), typed)
        case "object":
            return _parse_json_object(typed) if typed.lstrip().startswith("{") else _parse_pairs(typed)
        case _:
            return typed


def _split_words(typed: str) -> list[str]:
    lexer = shlex.shlex(typed, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes = True, "", '"'
    try:
        return list(lexer)
    except ValueError as error:
        raise InvalidInputError(f"{typed!r} cannot be read: {str(error).lower()}") from None


def _set_path(arguments: dict[str, Any], name: str, path: str, value: Any) -> None:
    *outer, last = [name, *path.split(".")[1:]]
    for part in outer:
        inner = arguments.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InvalidInputError(f"{part} is given twice")
        arguments = inner
    arguments[last] = value


def _parse_choice(choices: list[str], typed: str) -> str:
    """Return the choice that is meant: by its name, or by an unmistakable beginning of it."""
    if typed in choices:
        return typed
    found = [choice for choice in choices if typed and choice.startswith(typed)]
    if len(found) != 1:
        raise InvalidInputError(f"{typed!r} is none of {', '.join(choices)}")
    return found[0]


def _parse_number(typed: str, what: str, *, is_whole: bool) -> int | float:
    found = _NUMBER.fullmatch(typed.strip())
    if found is None or (is_whole and found[1]):
        raise InvalidInputError(f"{typed!r} is not {what}")
    return float(found[0]) if found[1] else int(found[0])


def _parse_flag(typed: str) -> bool:
    if typed in _YES | _NO:
        return typed in _YES
    raise InvalidInputError(f"{typed!r} is neither yes nor no")


def _parse_list(items: Mapping[str, Any], typed: str) -> list[Any]:
    if typed.lstrip().startswith("["):
        found = _parse_json(typed)
        return found if isinstance(found, list) else [found]
    return [parse_value(items, part.strip()) for part in typed.split(",") if part.strip()]


def _parse_pairs(typed: str) -> dict[str, Any]:
    """Return an object from `name=value, name=value`."""
    found: dict[str, Any] = {}
    for part in (part.strip() for part in typed.split(",")):
        name, separator, value = part.partition("=")
        if part and not separator:
            raise InvalidInputError(f"{part!r} is no name=value, and no JSON object")
        if part:
            found[name.strip()] = _parse_scalar(value.strip())
    return found


def _parse_scalar(typed: str) -> Any:
    flags = {"true": True, "false": False}
    if typed in flags:
        return flags[typed]
    return _parse_number(typed, "a number", is_whole=False) if _NUMBER.fullmatch(typed) else typed


def _parse_json_object(typed: str) -> dict[str, Any]:
    found = _parse_json(typed)
    if not isinstance(found, dict):
        raise InvalidInputError("that is no JSON object")
    return found


def _parse_json(typed: str) -> Any:
    try:
        return json.loads(typed)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"that is no JSON: {error}") from None
