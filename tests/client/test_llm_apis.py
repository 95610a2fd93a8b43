"""Requests and responses in each API's format according to its reference documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from companyos.contract import ToolSpec
from companyos.policies.llm import InvalidSettingsError, LlmSettings
from companyos.policies.llm.apis import APIS, Tokens, UnusableAnswerError
from companyos.policies.llm.apis.api import NATIVE
from companyos.policies.llm.calls import tool_calls
from companyos.policies.llm.conversation import Conversation
from companyos.policies.llm.stub_formats import FORMATS, check_results
from tests.client.builders import a_step, a_task
from tests.client.llm_scripts import EVERY_API, a_model, text_message, tool_call_message

LOOK = ToolSpec(name="look", description="Look.", input_schema={"type": "object", "properties": {}})
URL = "http://h"

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"at": 1}'}
TEXT = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}}


def sent_back(api: str, body: dict[str, Any]) -> tuple[dict[str, Any], Conversation]:
    """Return the request that follows a response: with results of its calls, or else with a reminder."""
    conversation = Conversation(a_task(LOOK))
    answered(conversation, api, body)
    settings = a_model(URL, api=api)
    return APIS[api].body(settings, conversation.messages, conversation.tools), conversation


def answered(conversation: Conversation, api: str, body: dict[str, Any]) -> None:
    """Append a response, and the results of its calls or a reminder."""
    message = APIS[api].answer(body).message
    calls = tool_calls(message, first=conversation.calls_made)
    conversation.add_answer(message, calls)
    for call in calls:
        conversation.add_result(call, a_step(result="seen"))
    if not calls:
        conversation.add_reminder()


def a_response(api: str, message: dict[str, Any]) -> dict[str, Any]:
    """Return a response with a chat completions message."""
    return FORMATS[APIS[api].PATH].answer(message, "m-1", (10, 2))


def test_reasoning_is_sent_back_unchanged_and_in_order() -> None:
    encrypted = {**REASONING, "encrypted_content": "gAAA", "status": None}
    body, conversation = sent_back("responses", {"status": "completed", "output": [encrypted, TEXT, REASONING, CALL]})
    kept = {name: value for name, value in encrypted.items() if value is not None}
    assert body["input"][1:5] == [kept, TEXT, REASONING, {**CALL, "arguments": '{"at": 1}'}]
    assert body["input"][5]["call_id"] == "call_1"
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert conversation.messages[2]["reasoning"] == "Hm.Hm."


def test_thinking_is_sent_back_with_its_signature() -> None:
    redacted = {"type": "redacted_thinking", "data": "ZW5j"}
    text = {"type": "text", "text": "I look.", "citations": None}
    body, conversation = sent_back("anthropic", {"content": [THINKING, redacted, text, TOOL_USE]})
    user, assistant, results = body["messages"]
    assert (user["role"], results["role"]) == ("user", "user")
    assert assistant["content"] == [THINKING, redacted, {"type": "text", "text": "I look."}, TOOL_USE]
    assert results["content"][0]["tool_use_id"] == "toolu_1"
    assert (conversation.messages[2]["reasoning"], conversation.messages[2]["content"]) == ("Hm.", "I look.")


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("responses", {"status": "incomplete", "output": [REASONING]}),
        ("responses", {"status": "completed", "output": []}),
        ("anthropic", {"content": [THINKING], "stop_reason": "max_tokens"}),
        ("anthropic", {"content": [], "stop_reason": "refusal"}),
        ("anthropic", {"content": [{"type": "text", "text": "\n"}], "stop_reason": "end_turn"}),
    ],
)
def test_a_response_without_text_or_calls_adds_nothing_that_the_api_would_reject(
    api: str, body: dict[str, Any]
) -> None:
    request, conversation = sent_back(api, body)
    assert "reasoning" not in json.dumps(request.get("input", []))
    roles = [message["role"] for message in FORMATS[APIS[api].PATH].messages(request)]
    assert "assistant" not in roles
    assert conversation.messages[-1]["role"] == "user"


def test_all_results_of_a_message_are_in_the_next_message() -> None:
    second = {**TOOL_USE, "id": "toolu_2"}
    body, conversation = sent_back("anthropic", {"content": [TOOL_USE, second], "stop_reason": "tool_use"})
    answered(conversation, "anthropic", {"content": [], "stop_reason": "end_turn"})
    settings = a_model(URL, api="anthropic")
    body = APIS["anthropic"].body(settings, conversation.messages, conversation.tools)
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][-1]["content"]] == ["tool_result", "tool_result", "text"]


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_a_call_with_possibly_incomplete_input_is_not_made(reason: str) -> None:
    body = {"content": [TOOL_USE, {**TOOL_USE, "id": "toolu_2"}], "stop_reason": reason}
    first, cut_off = tool_calls(APIS["anthropic"].answer(body).message)
    assert (first.arguments, first.fault) == ({"at": 1}, None)
    assert cut_off.fault is not None


@pytest.mark.parametrize("part", [[], None, {}, {"input": [1]}, {"input": None, "name": None, "id": None}])
def test_a_malformed_tool_use_is_an_invalid_call(part: Any) -> None:
    body = {"content": [{"type": "tool_use", **part}]} if isinstance(part, dict) else {"content": [part]}
    if not isinstance(part, dict):
        with pytest.raises(TypeError):
            APIS["anthropic"].answer(body)
        return
    request, _ = sent_back("anthropic", body)
    [block] = request["messages"][1]["content"]
    assert (block["id"], block["name"], type(block["input"])) == ("call_0", "_", dict)


def test_a_failed_response_states_the_reason() -> None:
    error = {"code": "server_error", "message": "The model failed."}
    with pytest.raises(UnusableAnswerError, match="The model failed"):
        APIS["responses"].answer({"status": "failed", "error": error, "output": []})


@pytest.mark.parametrize(
    ("api", "body", "reason"),
    [
        ("responses", {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, None),
        ("responses", {"status": "completed", "incomplete_details": None}, "completed"),
        ("anthropic", {"stop_reason": "pause_turn"}, "pause_turn"),
    ],
)
def test_the_finish_reason_is_that_of_the_api(api: str, body: dict[str, Any], reason: str | None) -> None:
    answer = APIS[api].answer({"output": [], "content": [], **body})
    assert answer.finish_reason == (reason or "max_output_tokens")


USAGES = {
    "chat": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 8},
    },
    "responses": {
        "input_tokens": 100,
        "output_tokens": 20,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens_details": {"reasoning_tokens": 8},
    },
    "anthropic": {
        "input_tokens": 10,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 30,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 8},
    },
}


@EVERY_API
def test_usage_counts_cached_tokens_as_part_of_the_prompt(api: str) -> None:
    body = a_response(api, text_message("Hm.")) | {"usage": USAGES[api]}
    assert APIS[api].answer(body).tokens == Tokens(prompt=100, completion=20, cached=60, cache_written=30, reasoning=8)


@EVERY_API
@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": "many", "prompt_tokens": -1}])
def test_usage_that_is_missing_or_unreadable_is_unknown(api: str, usage: Any) -> None:
    tokens = APIS[api].answer(a_response(api, text_message("Hm.")) | {"usage": usage}).tokens
    assert tokens == Tokens(prompt=None, completion=None)


def test_cached_tokens_have_separate_prices() -> None:
    prices = {"price_in": 3.0, "price_out": 15.0}
    full = a_model(URL, **prices)
    cached = a_model(URL, **prices, price_cached=0.3, price_cache_write=3.75)
    assert full.cost(100, 20, cached=60, cache_written=30) == pytest.approx(600e-6)
    assert cached.cost(100, 20, cached=60, cache_written=30) == pytest.approx((30 + 18 + 112.5 + 300) / 1e6)


@EVERY_API
@pytest.mark.parametrize("tokens", [800, 600, 100])
def test_dropping_the_oldest_turns_leaves_no_result_without_its_call(api: str, tokens: int) -> None:
    conversation = Conversation(a_task(LOOK))
    for turn in range(20):
        message = tool_call_message(("look", {}), ("look", {})) if turn % 3 else text_message("Hm.")
        answered(conversation, api, a_response(api, message))
    assert conversation.shrink(tokens) is not None
    body = APIS[api].body(a_model(URL, api=api), conversation.messages, conversation.tools)
    messages = FORMATS[APIS[api].PATH].messages(body)
    check_results(messages)
    assert conversation.shrink(tokens) is None
    assert 3 < len(messages) < 31


def test_a_stub_rejects_results_without_calls_and_calls_without_results() -> None:
    call = {"role": "assistant", **tool_call_message(("look", {}))}
    result = {"role": "tool", "tool_call_id": "call_0", "content": "{}"}
    check_results([call, result])
    for messages in ([result], [call], [call, {"role": "user", "content": "Hm."}, result], [call, result, result]):
        with pytest.raises(ValueError, match="call_0 has no"):
            check_results(messages)


def test_native_parts_do_not_count_as_context() -> None:
    conversation = Conversation(a_task(LOOK))
    before = conversation.estimated_tokens()
    answered(conversation, "responses", {"status": "completed", "output": [REASONING | {"x": "y" * 9_000}, TEXT]})
    assert len(json.dumps(conversation.messages[2][NATIVE])) > 9_000
    assert conversation.estimated_tokens() < before + 200


@pytest.mark.parametrize(
    ("settings", "limit"),
    [({}, 16_000), ({"max_output_tokens": 500}, 500), ({"context_limit": 8_000}, 1_000)],
)
def test_anthropic_requires_a_limit_of_the_response(settings: dict[str, Any], limit: int) -> None:
    model = a_model(URL, api="anthropic", **settings)
    conversation = Conversation(a_task(LOOK))
    assert APIS["anthropic"].body(model, conversation.messages, conversation.tools)["max_tokens"] == limit


def test_tools_keep_their_optional_arguments() -> None:
    conversation = Conversation(a_task(LOOK))
    responses, anthropic = (
        APIS[api].body(a_model(URL, api=api), conversation.messages, conversation.tools)["tools"]
        for api in ("responses", "anthropic")
    )
    schema = LOOK.input_schema
    assert responses == [
        {"type": "function", "name": "look", "description": "Look.", "parameters": schema, "strict": False}
    ]
    assert anthropic == [{"name": "look", "description": "Look.", "input_schema": schema}]


def test_a_name_that_no_api_accepts_is_sent_back_in_accepted_characters() -> None:
    message = {"tool_calls": [{"id": "x", "function": {"name": "functions.look " + "a" * 90, "arguments": "{}"}}]}
    [call] = tool_calls(message)
    assert call.tool.startswith("functions.look aaa")
    assert call.as_message_part()["function"]["name"] == ("functions_look_" + "a" * 90)[:64]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"api": "anthropic", "base_url": "https://api.anthropic.com/v1/"}, "ANTHROPIC_API_KEY is not set"),
        ({"api": "responses"}, "OPENAI_API_KEY is not set; https://api.openai.com/v1 requires a key"),
        ({"base_url": URL, "price_cached": 1.0}, "prices of cached tokens require those of prompt"),
        ({"base_url": URL, "extra_body": {"system": ""}}, "system cannot be set"),
    ],
)
def test_settings_of_an_api_are_validated(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSettingsError, match=message):
        LlmSettings(model="m-1", **settings)
