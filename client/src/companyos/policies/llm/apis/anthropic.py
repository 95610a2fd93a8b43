"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openai import Omit

from companyos.policies.llm.apis.api import (
    NATIVE,
    Answer,
    Message,
    Tokens,
    answer_message,
    call_part,
    count,
    joined,
    native_parts,
    without_last,
)
from companyos.policies.llm.settings import ANSWER_SHARE

if TYPE_CHECKING:
    from companyos.policies.llm.settings import LlmSettings

PATH = "/v1/messages"
NAME = "message of the Messages API"
VERSION = "2023-06-01"

MAX_TOKENS = 16_000
"""Default of the required token limit of a response; the API expects longer responses to be streamed."""

_THINKING = frozenset({"thinking", "redacted_thinking"})
_CALL = "tool_use"
_CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""Reasons for the end of a response whose last block may be incomplete."""


def headers(key: str | None) -> dict[str, str | Omit]:
    """Return the headers of a request, without those of an OpenAI account."""
    openai: dict[str, str | Omit] = {
        name: Omit() for name in ("Authorization", "OpenAI-Organization", "OpenAI-Project")
    }
    return openai | {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def body(settings: LlmSettings, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a request."""
    system, *others = messages
    request: dict[str, Any] = {
        "model": settings.model,
        "max_tokens": settings.max_output_tokens or _default_max_tokens(settings.context_limit),
        "cache_control": {"type": "ephemeral"},
        "system": system["content"],
        "messages": _merged(others),
        "tools": [
            {
                "name": tool["function"]["name"],
                "description": tool["function"]["description"],
                "input_schema": tool["function"]["parameters"],
            }
            for tool in tools
        ],
    }
    if settings.temperature is not None:
        request["temperature"] = settings.temperature
    return {**request, **settings.extra_body}


def answer(body: Mapping[str, Any]) -> Answer:
    """Return the answer in a response."""
    blocks, reason = native_parts(body["content"]), body.get("stop_reason")
    calls = [
        call_part(block.get("id"), block.get("name"), json.dumps(block.get("input", {})))
        for block in blocks
        if block.get("type") == _CALL
    ]
    if calls and reason in _CUT_OFF and blocks[-1].get("type") == _CALL:
        function = calls[-1]["function"]
        function["arguments"] = function["arguments"][:-1]  # invalid JSON, since the input is incomplete
    usage = body.get("usage")
    cached = count(usage, "cache_read_input_tokens") or 0
    cache_written = count(usage, "cache_creation_input_tokens") or 0
    uncached = count(usage, "input_tokens")
    return Answer(
        message=answer_message(
            joined([block for block in blocks if block.get("type") == "text"], "text"),
            joined(blocks, "thinking"),
            calls,
            blocks,
        ),
        finish_reason=reason,
        tokens=Tokens(
            prompt=None if uncached is None else uncached + cached + cache_written,
            completion=count(usage, "output_tokens"),
            cached=cached,
            cache_written=cache_written,
            reasoning=count(usage, "output_tokens_details", "thinking_tokens") or 0,
        ),
    )


def _default_max_tokens(context_limit: int | None) -> int:
    return MAX_TOKENS if context_limit is None else min(MAX_TOKENS, context_limit // ANSWER_SHARE)


def _merged(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages with alternating roles: the results of all calls of a message form the next message."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = list(_blocks(message))
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += blocks
        elif blocks:
            merged.append({"role": role, "content": blocks})
    return merged


def _blocks(message: Message) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a message. The API rejects blank texts, including those that it returned."""
    match message["role"]:
        case "tool":
            yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        case "user":
            yield {"type": "text", "text": message["content"]}
        case _:
            calls = iter(message.get("tool_calls", ()))
            for block in without_last(message[NATIVE], _THINKING):
                if block.get("type") == _CALL:
                    call = next(calls)
                    function = call["function"]
                    arguments = json.loads(function["arguments"])
                    yield {**block, "id": call["id"], "name": function["name"], "input": arguments}
                elif block.get("type") != "text" or str(block.get("text", "")).strip():
                    yield block
