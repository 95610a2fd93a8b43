"""Parses command lines into tool arguments according to the tool's JSON schema."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from io import StringIO
from typing import Any

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z0-9_]+)*)=(.*)", re.DOTALL)
_YES, _NO = frozenset({"yes", "y", "true", "1"}), frozenset({"no", "n", "false", "0"})
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)


class InvalidInputError(ValueError):
    """Raised for input that does not match the schema; the text gives the reason."""


def parse_arguments(schema: Mapping[str, Any], typed: str) -> dict[str, Any]:
    """Return the arguments of a line: a JSON object, or words. Raises InvalidInputError.

    `name=value` sets an argument, `name.part=value` a field of an object, and a word without a name the next argument
    in the order of the schema. Double quotes enclose values with blanks, and words with `=` that are not assignments.
    """
    if typed.startswith("{"):
        try:
            return _parse_json_object(typed)
        except InvalidInputError as error:
            raise InvalidInputError(f"the arguments {error}") from None
    properties = schema.get("properties", {})
    unnamed = [*schema.get("required", ()), *(name for name in properties if name not in schema.get("required", ()))]
    arguments: dict[str, Any] = {}
    for word, is_quoted in _split_words(typed):
        match = None if is_quoted else _ASSIGNMENT.fullmatch(word)
        if match is not None and match[1] in properties:
            value = _parse_argument(match[1], properties[match[1]], match[3], is_part=bool(match[2]))
            _set_path(arguments, match[1], match[2], value)
            continue
        name = next((name for name in unnamed if name not in arguments), None)
        if match is not None and (name is None or properties[name].get("type") != "object"):
            raise InvalidInputError(f"unknown argument {match[1]}; accepted: {', '.join(properties) or 'none'}")
        if name is None:
            raise InvalidInputError(f"too many arguments: {word!r}")
        arguments[name] = _parse_argument(name, properties[name], word)
    return arguments


def _parse_argument(name: str, schema: Mapping[str, Any], typed: str, *, is_part: bool = False) -> Any:
    try:
        return parse_value(schema, typed, is_part=is_part)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name} {error}") from None


def parse_value(schema: Mapping[str, Any], typed: str, *, is_part: bool = False) -> Any:
    """Return the value of an argument, or of a part of one. Raises InvalidInputError."""
    if is_part:
        return _parse_scalar(typed)
    if "enum" in schema:
        return _parse_choice([str(choice) for choice in schema["enum"]], typed.strip())
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


def _split_words(typed: str) -> list[tuple[str, bool]]:
    """Return the words, and whether each begins with a quote."""
    source = StringIO(typed)
    lexer = shlex.shlex(source, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes = True, "", '"'
    words, start = [], 0
    try:
        for word in lexer:
            words.append((word, typed[start:].lstrip().startswith('"')))
            start = source.tell()
        return words
    except ValueError as error:
        raise InvalidInputError(f"cannot parse {typed!r}: {str(error).lower()}") from None


def _set_path(arguments: dict[str, Any], name: str, path: str, value: Any) -> None:
    *outer, last = [name, *path.split(".")[1:]]
    for part in outer:
        inner = arguments.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InvalidInputError(f"{part} is set twice")
        arguments = inner
    arguments[last] = value


def _parse_choice(choices: list[str], typed: str) -> str:
    """Return the choice with this name, or the only one with this prefix."""
    if typed in choices:
        return typed
    matches = [choice for choice in choices if typed and choice.startswith(typed)]
    if len(matches) != 1:
        raise InvalidInputError(f"must be one of {', '.join(choices)}; got {typed!r}")
    return matches[0]


def _parse_number(typed: str, what: str, *, is_whole: bool) -> int | float:
    number = _NUMBER.fullmatch(typed.strip())
    if number is None or (is_whole and number[1]):
        raise InvalidInputError(f"must be {what}; got {typed!r}")
    return float(number[0]) if number[1] else int(number[0])


def _parse_flag(typed: str) -> bool:
    if typed in _YES | _NO:
        return typed in _YES
    raise InvalidInputError(f"must be yes or no; got {typed!r}")


def _parse_list(items: Mapping[str, Any], typed: str) -> list[Any]:
    if typed.lstrip().startswith("["):
        value = _parse_json(typed)
        return value if isinstance(value, list) else [value]
    return [parse_value(items, part.strip()) for part in typed.split(",") if part.strip()]


def _parse_pairs(typed: str) -> dict[str, Any]:
    """Return an object from `name=value, name=value`."""
    fields: dict[str, Any] = {}
    for part in (part.strip() for part in typed.split(",")):
        name, separator, value = part.partition("=")
        if part and not separator:
            raise InvalidInputError(f"must be name=value pairs or a JSON object; got {part!r}")
        if part:
            fields[name.strip()] = _parse_scalar(value.strip())
    return fields


def _parse_scalar(typed: str) -> Any:
    flags = {"true": True, "false": False}
    if typed in flags:
        return flags[typed]
    return _parse_number(typed, "a number", is_whole=False) if _NUMBER.fullmatch(typed) else typed


def _parse_json_object(typed: str) -> dict[str, Any]:
    value = _parse_json(typed)
    if not isinstance(value, dict):
        raise InvalidInputError("must be a JSON object")
    return value


def _parse_json(typed: str) -> Any:
    try:
        return json.loads(typed)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"must be valid JSON: {error}") from None
