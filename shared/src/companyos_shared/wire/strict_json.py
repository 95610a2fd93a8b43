"""Strict reading of JSON from outside: one object, bounded depth, no duplicate keys, no NaN, no lone surrogates."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

MAX_BODY_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_INTEGER = 2**53

_LONGEST_INTEGER_DIGITS = 17
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
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
    _check_depth(text)
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


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            raise MalformedJson("json-too-deep", f"The JSON is nested deeper than {MAX_DEPTH} levels.")


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
