"""Conversations are truncated to the context limit and remain valid for endpoints; each call of a model is a step."""

from __future__ import annotations

import re
from typing import Any

import pytest

from companyos.contract import ToolSpec
from companyos.policies.json_values import sanitize_json
from companyos.policies.llm.calls import MALFORMED, read_arguments, tool_calls
from companyos.policies.llm.conversation import Conversation
from companyos.policies.llm.prompt import extract_task, parse_result_text, parse_task_text, result_text, task_text
from companyos.policies.llm.stub_formats import check_results
from tests.client.builders import NOW, a_step, a_task
from tests.client.llm_scripts import text_message, tool_call_message

LOOK = ToolSpec(name="look", description="Look.", input_schema={"type": "object", "properties": {}})


def a_conversation(turns: int, size: int = 2_000) -> Conversation:
    """Return a conversation of turns with two calls and long results each, followed by a reminder."""
    conversation = Conversation(a_task(LOOK))
    for _ in range(turns):
        message = tool_call_message(("look", {}), ("look", {}))
        calls = tool_calls(message)
        conversation.add_answer(message, calls)
        for call in calls:
            conversation.add_result(call, a_step(result="x" * size))
    conversation.add_answer(text_message("Hm."), [])
    conversation.add_reminder()
    return conversation


def test_a_conversation_within_its_limit_is_not_changed() -> None:
    conversation = a_conversation(turns=3)
    before = [dict(message) for message in conversation.messages]
    assert conversation.fit(100_000, None) is None
    assert conversation.messages == before


def test_the_oldest_tool_results_are_dropped_first_and_replaced_by_their_size() -> None:
    conversation = a_conversation(turns=6)
    dropped = conversation.fit(6_000, 500)
    assert dropped is not None
    assert (dropped.turns, 0 < dropped.results < 12) == (0, True)
    output = [message["content"] for message in conversation.messages if message["role"] == "tool"]
    assert ["were dropped to save context" in text for text in output] == [True] * dropped.results + [False] * (
        12 - dropped.results
    )
    assert re.fullmatch(r"\[2\d{3} characters were dropped to save context; .*\]", output[0])
    assert conversation.estimated_tokens() <= 0.75 * 5_500
    check_results(conversation.messages)


def test_whole_turns_are_dropped_next_and_the_task_states_how_many() -> None:
    conversation = a_conversation(turns=30, size=100)
    dropped = conversation.shrink(1_200)
    assert dropped is not None
    assert dropped.turns > 0
    assert conversation.shrink(800) is not None
    assert conversation.messages[0]["role"] == "system"
    assert extract_task(conversation.messages[1]["content"]) == task_text(a_task(LOOK))
    assert conversation.messages[1]["content"].count("were dropped to save context") == 1
    assert conversation.messages[-2]["content"] == "Hm."
    check_results(conversation.messages)


def test_the_last_turn_is_never_dropped() -> None:
    conversation = Conversation(a_task(LOOK))
    message = tool_call_message(("look", {}))
    [call] = tool_calls(message)
    conversation.add_answer(message, [call])
    conversation.add_result(call, a_step(result="x" * 10_000))
    assert conversation.shrink(10) is None
    assert "x" * 10_000 in conversation.messages[-1]["content"]


def test_the_tokens_per_character_are_estimated_from_the_endpoint() -> None:
    conversation = a_conversation(turns=1)
    conversation.calibrate(4_321)
    assert conversation.estimated_tokens() == 4_321
    conversation.calibrate(None)
    assert conversation.estimated_tokens() == 4_321


def test_a_message_is_sent_back_unchanged_without_null_members() -> None:
    conversation = Conversation(a_task(LOOK))
    message = tool_call_message(("look", {})) | {
        "role": "assistant",
        "refusal": None,
        "reasoning_details": [{"text": "Hm."}],
    }
    conversation.add_answer(message, tool_calls(message))
    assert conversation.messages[-1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": message["tool_calls"],
        "reasoning_details": [{"text": "Hm."}],
    }


def test_the_task_text_omits_reward_and_scenario_and_can_be_parsed() -> None:
    task = a_task(LOOK, brief="Do this.\n\nThen that.")
    read = parse_task_text(task_text(task), (LOOK,), "tiny")
    assert (read.brief, read.company, read.acting_as, read.now, read.steps_left) == (
        "Do this.\n\nThen that.",
        "Tiny",
        "E-1",
        NOW,
        50,
    )
    assert "scenario" not in task_text(task)
    assert result_text(a_step(result=[1])) == '{"result":[1],"now":"2026-03-02T09:15:00Z","steps_left":50}'


def test_a_rejected_call_is_described_with_its_reason_and_can_be_parsed() -> None:
    output = result_text(a_step(error="invalid_args"), "The arguments must be a JSON object.")
    read = parse_result_text(output)
    assert (read.error, read.message, read.result) == ("invalid_args", "The arguments must be a JSON object.", None)


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
