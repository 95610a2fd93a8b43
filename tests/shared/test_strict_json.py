"""Strict JSON: the accepted input from outside, which is parsed in linear time."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest

from companyos_shared.wire.strict_json import MAX_BODY_BYTES, MAX_DEPTH, MAX_VALUES, MalformedJsonError, parse_object
from tests.complexity.growth import Growth
from tests.complexity.inputs import BODIES, Input


def _nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed-json"),
        (b"{", "malformed-json"),
        (b"\xff{}", "malformed-json"),
        (b" ", "malformed-json"),
        (b"{}{}", "malformed-json"),
        (b'{"a": 1,}', "malformed-json"),
        (b'{"a": 1} // b', "malformed-json"),
        (b"\xef\xbb\xbf{}", "malformed-json"),
        (b'{"a": "\0"}', "malformed-json"),
        ('{"a": 1}'.encode("utf-16"), "malformed-json"),
        (b"[]", "not-an-object"),
        (b"null", "not-an-object"),
        (b'"text"', "not-an-object"),
        (b'{"a": 1, "a": 2}', "duplicate-key"),
        (b'{"a": {"b": 1, "b": 1}}', "duplicate-key"),
        (b'{"a": [{"b": 1, "\\u0062": 2}]}', "duplicate-key"),
        (b'{"a": NaN}', "not-finite"),
        (b'{"a": -Infinity}', "not-finite"),
        (b'{"a": 1e999}', "not-finite"),
        (b'{"a": 9007199254740993}', "integer-too-large"),
        (b'{"a": -9007199254740993}', "integer-too-large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "integer-too-large"),
        (b'{"a": "\\ud800"}', "lone-surrogate"),
        (b'{"\\udfff": 1}', "lone-surrogate"),
        (b'{"a": "\\udc00\\ud800"}', "lone-surrogate"),
        (_nested(MAX_DEPTH + 1), "json-too-deep"),
        (b"[" * 30_000, "json-too-deep"),
        (b'{"a":' + b"[" * MAX_DEPTH + b'"]"', "json-too-deep"),
        (b'{"a": "' + b"x" * MAX_BODY_BYTES + b'"}', "body-too-large"),
    ],
)
def test_an_unacceptable_body_is_rejected_with_its_code(body: bytes, code: str) -> None:
    with pytest.raises(MalformedJsonError) as caught:
        parse_object(body)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        (b'{"a": }', "line 1 column 7"),
        (b"{}\xff", "byte 2 "),
        (b'{"a": 1, "\\ud800": 1, "\\ud800": 2}', '"\\ud800"'),
        (b'{"a": 1e999}', "got 1e999"),
        (b'{"a": ' + b"9" * 5000 + b"}", f"got {'9' * 40}..."),
    ],
)
def test_the_message_names_the_position_or_the_value(body: bytes, fact: str) -> None:
    with pytest.raises(MalformedJsonError, match=re.escape(fact)):
        parse_object(body)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b'{"a": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{{{{"}', {"a": "[" * 40 + "{{{{"}),
        (b'{"a": -9007199254740992, "b": 1.5, "c": null}', {"a": -(2**53), "b": 1.5, "c": None}),
        (b'{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
    ],
)
def test_an_acceptable_body_is_parsed(body: bytes, value: object) -> None:
    assert parse_object(body) == value


def test_the_deepest_allowed_nesting_is_parsed() -> None:
    assert parse_object(_nested(MAX_DEPTH))


async def test_parsing_time_per_byte_does_not_grow_with_the_size_of_the_body() -> None:
    growth = Growth()
    for name, made in BODIES.items():

        async def parse(size: int, made: Input = made) -> None:
            with suppress(MalformedJsonError):
                parse_object(made(size))

        await growth.measure(name, parse)
    assert growth.superlinear == []


@pytest.mark.parametrize("values", [b"0,", b"[],", b'{"a":1},', b'"[{,",'])
def test_a_body_with_too_many_values_is_rejected(values: bytes) -> None:
    with pytest.raises(MalformedJsonError) as caught:
        parse_object(b'{"a":[' + values * MAX_VALUES + b"0]}")
    assert caught.value.code == "too-many-values"


def test_commas_and_brackets_inside_strings_are_not_counted_as_values() -> None:
    assert parse_object(b'{"a":"' + b",[{" * MAX_VALUES + b'"}')
