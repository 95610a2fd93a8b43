"""OpenAI's Responses API, without state on the server: each request carries the whole conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from companyos.policies.llm.apis.api import (
    NATIVE,
    Answer,
    Message,
    Tokens,
    UnusableAnswerError,
    answer_message,
    call_part,
    count,
    joined,
    native_parts,
    without_last,
)
from companyos.policies.llm.apis.chat import headers

if TYPE_CHECKING:
    from companyos.policies.llm.settings import LlmSettings

PATH = "/responses"
NAME = "response of the Responses API"

_REASONING = "reasoning"
_CALL = "function_call"

__all__ = ["NAME", "PATH", "answer", "body", "headers"]


def body(settings: LlmSettings, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a request."""
    system, *others = messages
    request: dict[str, Any] = {
        "model": settings.model,
        "instructions": system["content"],
        "input": [item for message in others for item in _items(message)],
        "tools": [{"type": "function", **tool["function"], "strict": False} for tool in tools],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if settings.temperature is not None:
        request["temperature"] = settings.temperature
    if settings.max_output_tokens is not None:
        request["max_output_tokens"] = settings.max_output_tokens
    return {**request, **settings.extra_body}


def answer(body: Mapping[str, Any]) -> Answer:
    """Return the answer in a response."""
    if body.get("status") == "failed":
        raise UnusableAnswerError(str((body.get("error") or {}).get("message")))
    items = native_parts(body["output"])
    texts = [part for item in items if item.get("type") == "message" for part in item.get("content", ())]
    summaries = [part for item in items if item.get("type") == _REASONING for part in item.get("summary", ())]
    calls = [
        call_part(item.get("call_id"), item.get("name"), item.get("arguments"))
        for item in items
        if item.get("type") == _CALL
    ]
    usage = body.get("usage")
    return Answer(
        message=answer_message(
            joined(texts, "text") or joined(texts, "refusal"), joined(summaries, "text"), calls, items
        ),
        finish_reason=(body.get("incomplete_details") or {}).get("reason") or body.get("status"),
        tokens=Tokens(
            prompt=count(usage, "input_tokens"),
            completion=count(usage, "output_tokens"),
            cached=count(usage, "input_tokens_details", "cached_tokens") or 0,
            cache_written=count(usage, "input_tokens_details", "cache_write_tokens") or 0,
            reasoning=count(usage, "output_tokens_details", "reasoning_tokens") or 0,
        ),
    )


def _items(message: Message) -> Iterator[dict[str, Any]]:
    """Yield the items of a message; calls have the arguments of the conversation, which are valid JSON."""
    match message["role"]:
        case "tool":
            yield {
                "type": "function_call_output",
                "call_id": message["tool_call_id"],
                "output": message["content"],
            }
        case "user":
            yield {"role": "user", "content": message["content"]}
        case _:
            calls = iter(message.get("tool_calls", ()))
            for item in without_last(message[NATIVE], {_REASONING}):
                if item.get("type") == _CALL:
                    call = next(calls)
                    yield {**item, "call_id": call["id"], **call["function"]}
                else:
                    yield item
