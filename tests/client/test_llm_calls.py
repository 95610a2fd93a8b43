"""Tool calls of a model: each one becomes a step, and an unreadable one becomes an invalid step."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.policies.json_values import sanitize_json
from companyos.policies.llm.calls import MALFORMED, read_arguments, tool_calls


def test_a_json_object_is_parsed_as_arguments() -> None:
    assert read_arguments('{"key": "OPS-1", "limit": 3}') == ({"key": "OPS-1", "limit": 3}, None)


@pytest.mark.parametrize("raw", [None, "", "  ", "{}"])
def test_missing_arguments_are_an_empty_object(raw: str | None) -> None:
    assert read_arguments(raw) == ({}, None)


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        ('{"key": "OPS-', "Unterminated string"),
        ("key=OPS-1", "Expecting value"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ("[1]", "it is a JSON array"),
        ('"{}"', "it is a JSON string"),
        ("null", "it is a JSON null"),
        ("true", "it is a JSON boolean"),
        ("7", "it is a JSON number"),
        ('{"amount": NaN}', "NaN is not valid JSON"),
        ('{"amount": 1e999}', "not JSON compliant"),
        ('{"key": "\\ud800"}', "surrogates not allowed"),
        ('{"n": ' + "9" * 5_000 + "}", "4300 digits"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ('{"n": 100000000000000000}', "between -2^53 and 2^53"),
        ('{"a": ' + "[" * 30 + "]" * 30 + "}", "at most 32 levels"),
        ('{"text": "' + "a" * 65_000 + '"}', "at most 65536 bytes"),
        ('{"text": "' + "é" * 11_000 + '"}', "at most 65536 bytes"),
    ],
)
def test_arguments_that_are_not_an_object_are_reported_and_kept(raw: str, output: str) -> None:
    arguments, fault = read_arguments(raw)
    assert fault is not None
    assert output in fault
    assert fault.endswith("The call was not made.")
    assert list(arguments) == [MALFORMED]
    assert raw.startswith(arguments[MALFORMED])
    assert len(arguments[MALFORMED]) <= 2_000


def test_a_long_unknown_tool_name_is_truncated() -> None:
    (found,) = tool_calls({"tool_calls": [{"function": {"name": "a" * 70_000}}]})
    assert found.tool == "a" * 200


def test_calls_keep_their_order_and_get_an_id_if_they_lack_one() -> None:
    message = {
        "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            {"function": {"name": "wait", "arguments": {"minutes": 5}}},
            {"type": "custom"},
            None,
        ]
    }
    found = tool_calls(message, first=7)
    assert [(call.id, call.tool, call.arguments) for call in found] == [
        ("x", "look", {}),
        ("call_8", "wait", {"minutes": 5}),
        ("call_9", "", {}),
        ("call_10", "", {}),
    ]


@pytest.mark.parametrize("message", [{}, {"tool_calls": None}, {"tool_calls": []}, {"tool_calls": "look"}])
def test_a_message_without_calls_has_no_calls(message: dict[str, Any]) -> None:
    assert tool_calls(message) == []


def test_an_unreadable_call_is_sent_back_as_json_that_every_endpoint_parses() -> None:
    [call] = tool_calls({"tool_calls": [{"id": "x", "function": {"name": "look", "arguments": "{oops"}}]})
    assert call.as_message_part()["function"] == {"name": "look", "arguments": '{"malformed_json": "{oops"}'}


def test_texts_are_sanitized_for_json() -> None:
    assert sanitize_json({"a": ["x\ud800y", float("nan")]}) == {"a": ["x?y", None]}
