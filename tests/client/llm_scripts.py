"""Scripts for the stub server: a sequence of replies like those of a model or a failing endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from companyos.policies.llm import LlmSettings
from companyos.policies.llm.apis import APIS
from companyos.policies.llm.apis.api import call_part
from companyos.policies.llm.stub import Reply, StubRequest, completion

AT_ONCE = {"Retry-After": "0.01"}


class ScriptedReplies:
    """Returns its replies in order and repeats the last one; a reply may be given as a message."""

    def __init__(self, *replies: Reply | dict[str, Any], pause_s: float = 0.0) -> None:
        self._replies = list(replies)
        self._pause_s = pause_s

    async def reply(self, received: StubRequest) -> Reply:
        await asyncio.sleep(self._pause_s)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return reply if isinstance(reply, Reply) else completion(reply, received)


def tool_call_message(*calls: tuple[str, Any]) -> dict[str, Any]:
    """Return a message with these tool calls."""
    parts = [
        call_part(f"call_{place}", tool, arguments if isinstance(arguments, str) else json.dumps(arguments))
        for place, (tool, arguments) in enumerate(calls)
    ]
    return {"content": None, "tool_calls": parts}


def text_message(text: str) -> dict[str, Any]:
    """Return a message without a tool call."""
    return {"content": text}


EVERY_API = pytest.mark.parametrize("api", APIS)


def a_model(url: str, **settings: Any) -> LlmSettings:
    """Return settings with a model name."""
    received: dict[str, Any] = {"model": "m-1", "base_url": url, "retries": 2}
    return LlmSettings(**(received | settings))


def texts(messages: Iterable[dict[str, Any]], role: str) -> list[str]:
    """Return the contents of the messages with a role."""
    return [message["content"] for message in messages if message["role"] == role]
