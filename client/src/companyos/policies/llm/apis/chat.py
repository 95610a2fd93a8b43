"""OpenAI's chat completions, the format in which conversations are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openai import Omit

from companyos.policies.llm.apis.api import Answer, Message, Tokens, count

if TYPE_CHECKING:
    from companyos.policies.llm.settings import LlmSettings

PATH = "/chat/completions"
NAME = "chat completion"


def headers(key: str | None) -> dict[str, str | Omit]:
    """Return the headers of a request; the client adds the key."""
    return {} if key else {"Authorization": Omit()}


def body(settings: LlmSettings, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a request."""
    request: dict[str, Any] = {"model": settings.model, "messages": messages, "tools": tools}
    if settings.temperature is not None:
        request["temperature"] = settings.temperature
    if settings.max_output_tokens is not None:
        request["max_completion_tokens"] = settings.max_output_tokens
    return {**request, **settings.extra_body}


def answer(body: Mapping[str, Any]) -> Answer:
    """Return the answer in a response."""
    choice, usage = body["choices"][0], body.get("usage") or {}
    message = choice["message"]
    if not isinstance(message, dict) or not isinstance(usage, dict):
        raise TypeError(message)
    return Answer(
        message=message,
        finish_reason=choice.get("finish_reason"),
        tokens=Tokens(
            prompt=count(usage, "prompt_tokens"),
            completion=count(usage, "completion_tokens"),
            cached=count(usage, "prompt_tokens_details", "cached_tokens") or 0,
            cache_written=count(usage, "prompt_tokens_details", "cache_write_tokens") or 0,
            reasoning=count(usage, "completion_tokens_details", "reasoning_tokens") or 0,
        ),
    )
