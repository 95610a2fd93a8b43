"""Strict JSON: the accepted input from outside."""

from __future__ import annotations

import pytest

from companyos_shared.wire.strict_json import MAX_BODY_BYTES, MAX_DEPTH, MalformedJsonError, parse_object


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
