"""The time to parse strict JSON grows linearly with the size of the body, whatever its content."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from companyos_shared.wire.strict_json import MAX_DEPTH, MAX_VALUES, MalformedJsonError, parse_object

SMALL, LARGE = 8 * 1024, 64 * 1024
SLACK = 3.0
"""Maximum ratio of the time per byte between the large and the small body."""
TIMER_FLOOR_S = 0.002

_OPEN = b"[" * (MAX_DEPTH + 1)

BODIES: dict[str, Callable[[int], bytes]] = {
    "an open string of escaped quotes behind brackets": lambda size: _OPEN + b'"' + _filled(b'\\"', size - 40),
    "the same with a last backslash": lambda size: _OPEN + b'"' + _filled(b'\\"', size - 40) + b"\\",
    "quotes behind brackets": lambda size: _OPEN + _filled(b'"', size - 40),
    "backslashes behind brackets": lambda size: _OPEN + b'"' + _filled(b"\\", size - 40),
    "quotes and backslashes": lambda size: _OPEN + _filled(b'"\\', size - 40),
    "brackets": lambda size: _filled(b"[", size),
    "empty lists": lambda size: b'{"a":[' + _filled(b"[],", size - 20),
    "objects": lambda size: b'{"a":[' + _filled(b'{"a":1},', size - 20),
    "digits": lambda size: b'{"a":' + _filled(b"9", size - 20) + b"}",
    "digits behind a point": lambda size: b'{"a":0.' + _filled(b"9", size - 20) + b"}",
    "an exponent": lambda size: b'{"a":1e' + _filled(b"9", size - 20) + b"}",
    "space": lambda size: _filled(b" ", size),
    "escapes": lambda size: b'{"a":"' + _filled(b"\\u0041", size - 20) + b'"}',
    "lone surrogates": lambda size: b'{"a":"' + _filled(b"\\ud800", size - 20) + b'"}',
}


def _filled(pattern: bytes, size: int) -> bytes:
    return (pattern * (size // len(pattern) + 1))[: max(size, 0) // len(pattern) * len(pattern)]


def _cpu_s(body: bytes) -> float:
    def once() -> float:
        began = time.process_time()
        with suppress(MalformedJsonError):
            parse_object(body)
        return time.process_time() - began

    return min(once() for _ in range(3))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_parsing_time_per_byte_does_not_grow_with_the_size_of_the_body(body: Callable[[int], bytes]) -> None:
    small, large = _cpu_s(body(SMALL)), _cpu_s(body(LARGE))
    assert large <= max(small, TIMER_FLOOR_S) * LARGE / SMALL * SLACK


@pytest.mark.parametrize("values", [b"0,", b"[],", b'{"a":1},', b'"[{,",'])
def test_a_body_with_too_many_values_is_rejected(values: bytes) -> None:
    with pytest.raises(MalformedJsonError) as caught:
        parse_object(b'{"a":[' + values * MAX_VALUES + b"0]}")
    assert caught.value.code == "too-many-values"


def test_commas_and_brackets_inside_strings_are_not_counted_as_values() -> None:
    assert parse_object(b'{"a":"' + b",[{" * MAX_VALUES + b'"}')
