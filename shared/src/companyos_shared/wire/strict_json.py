"""Strict reading of JSON from outside: one object of bounded size, depth and number of values, no duplicate keys, no
NaN, no lone surrogates. The work grows with the size of the body and with nothing else.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

MAX_BODY_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_VALUES = 4096
"""Values, members and nested objects and lists together, as their commas and brackets are counted."""

MAX_INTEGER = 2**53

_LONGEST_INTEGER_DIGITS = 17
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string, or what begins as one and never ends. It matches at every quote: one that did not would be tried again from
each of the quotes inside, which takes quadratic time."""
_BRACKET = re.compile(r"[\[\]{}]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class MalformedJson(ValueError):
    """What came is no JSON object this house accepts; `code` is stable and the message states the fact."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_object(body: bytes | str) -> dict[str, Any]:
    """Return the JSON object in `body`; raises MalformedJson with a stable code for anything else."""
    text = _decoded(body)
    _check_structure(text)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=_bounded_integer)
    except MalformedJson:
        raise
    except ValueError as error:
        raise MalformedJson("malformed-json", "The body is not valid JSON.") from error
    if not isinstance(value, dict):
        raise MalformedJson("not-an-object", "The body is valid JSON but no object.")
    _check_strings(value)
    return value


def _decoded(body: bytes | str) -> str:
    raw = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BODY_BYTES:
        raise MalformedJson("body-too-large", f"The body is larger than {MAX_BODY_BYTES} bytes.")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedJson("malformed-json", "The body is not UTF-8.") from error


def _check_structure(text: str) -> None:
    """Raise MalformedJson for JSON that is nested too deep or holds too many values, before it is parsed."""
    opened, commas = text.count("[") + text.count("{"), text.count(",")
    if opened <= MAX_DEPTH and opened + commas <= MAX_VALUES:
        return
    structure = _STRING.sub("", text)
    opened = depth = 0
    for found in _BRACKET.finditer(structure):
        if found[0] in "]}":
            depth -= 1
            continue
        opened, depth = opened + 1, depth + 1
        if depth > MAX_DEPTH:
            raise MalformedJson("json-too-deep", f"The JSON is nested deeper than {MAX_DEPTH} levels.")
        if opened > MAX_VALUES:
            break
    if opened + structure.count(",") > MAX_VALUES:
        raise MalformedJson("too-many-values", f"The JSON holds more than {MAX_VALUES} values.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedJson("duplicate-key", "An object has the same key twice.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedJson("not-finite", f"{name} is not a JSON number.")


def _bounded_integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER_DIGITS or abs(int(digits)) > MAX_INTEGER:
        raise MalformedJson("integer-too-large", "An integer lies beyond 2^53.")
    return int(digits)


def _check_strings(value: Any) -> None:
    if isinstance(value, str):
        if _LONE_SURROGATE.search(value):
            raise MalformedJson("lone-surrogate", "A string holds a lone surrogate.")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_strings(key)
            _check_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_strings(item)
    elif isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise MalformedJson("not-finite", "A number is too large to be finite.")
