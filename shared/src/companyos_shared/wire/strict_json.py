"""Strict JSON parser for untrusted input: one object of bounded size, depth and number of values, without duplicate
keys, NaN or lone surrogates. It runs in linear time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import isinf
from typing import Any, NoReturn

MAX_BODY_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_VALUES = 4096
"""Maximum number of commas and opening brackets, which bounds values, members and nested containers."""

MAX_INTEGER = 2**53

LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_LONGEST_INTEGER_DIGITS = 17
_LONGEST_SHOWN = 40
_JSON_TYPES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string, terminated or not. The expression matches at every quote; otherwise an unterminated string would be retried
from each quote inside it, in quadratic time."""
_BRACKET = re.compile(r"[\[\]{}]")


class MalformedJsonError(ValueError):
    """Raised for a body that is not an accepted JSON object. `code` is stable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_object(body: bytes | str, *, max_bytes: int = MAX_BODY_BYTES, max_values: int = MAX_VALUES) -> dict[str, Any]:
    """Parse a JSON object; raises MalformedJsonError with a stable code for any other body."""
    text = _decode(body, max_bytes)
    _check_structure(text, max_values)
    try:
        value = _DECODER.decode(text)
    except MalformedJsonError:
        raise
    except ValueError as error:
        raise MalformedJsonError("malformed-json", f"The body must be valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise MalformedJsonError("not-an-object", f"The body must be a JSON object; got {_JSON_TYPES[type(value)]}.")
    _check_strings(value)
    return value


def _decode(body: bytes | str, max_bytes: int) -> str:
    raw = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    if len(raw) > max_bytes:
        raise MalformedJsonError("body-too-large", f"The body must have at most {max_bytes} bytes; got {len(raw)}.")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedJsonError("malformed-json", f"The body must be UTF-8; byte {error.start} is not.") from error


def _check_structure(text: str, max_values: int) -> None:
    """Raise MalformedJsonError for JSON that is nested too deeply or has too many values, before it is parsed."""
    opened, commas = text.count("[") + text.count("{"), text.count(",")
    if opened <= MAX_DEPTH and opened + commas <= max_values:
        return
    structure = _STRING.sub("", text)
    opened = depth = 0
    for match in _BRACKET.finditer(structure):
        if match[0] in "]}":
            depth -= 1
            continue
        opened, depth = opened + 1, depth + 1
        if depth > MAX_DEPTH:
            raise MalformedJsonError("json-too-deep", f"JSON must be nested at most {MAX_DEPTH} levels deep.")
        if opened > max_values:
            break
    if opened + structure.count(",") > max_values:
        raise MalformedJsonError("too-many-values", f"JSON must have at most {max_values} values.")


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise MalformedJsonError(
            "duplicate-key", f"Keys of an object must be unique; {json.dumps(_shown(key))} is not."
        )
    return members


def _reject_constant(name: str) -> NoReturn:
    raise MalformedJsonError("not-finite", f"Numbers must be finite; got {name}.")


def _bounded_integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER_DIGITS or abs(int(digits)) > MAX_INTEGER:
        raise MalformedJsonError("integer-too-large", f"Integers must be between -2^53 and 2^53; got {_shown(digits)}.")
    return int(digits)


def _finite_number(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise MalformedJsonError("not-finite", f"Numbers must be finite; got {_shown(text)}.")
    return number


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


_DECODER = json.JSONDecoder(
    object_pairs_hook=_reject_duplicates,
    parse_constant=_reject_constant,
    parse_float=_finite_number,
    parse_int=_bounded_integer,
)


def _check_strings(value: Any) -> None:
    if isinstance(value, str):
        if LONE_SURROGATE.search(value):
            raise MalformedJsonError("lone-surrogate", "Strings must not contain lone surrogates.")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_strings(key)
            _check_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_strings(item)
