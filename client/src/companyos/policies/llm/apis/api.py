"""The interface of the modules in this package, and their shared functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from openai import Omit

    from companyos.policies.llm.settings import LlmSettings

NATIVE = "native"
"""Field of a message with the parts that the API returned; it requires them unchanged and in order."""

Message = dict[str, Any]


class UnusableAnswerError(Exception):
    """Raised for a response in which the API states that it failed."""


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Token counts of one response; None if the endpoint reports none."""

    prompt: int | None
    """All tokens of the request, cached or not."""
    completion: int | None
    cached: int = 0
    """Prompt tokens read from the endpoint's cache."""
    cache_written: int = 0
    """Prompt tokens written to the endpoint's cache."""
    reasoning: int = 0
    """Completion tokens that are reasoning, if reported by the endpoint."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One response as a chat completions message, with its usage."""

    message: Message
    finish_reason: str | None
    tokens: Tokens


class Api(Protocol):
    """A module that translates requests and responses."""

    PATH: str
    """Path after the base URL."""
    NAME: str
    """Name of one response in error messages."""

    def headers(self, key: str | None) -> dict[str, str | Omit]:
        """Return the headers of a request with a key, or without one."""
        ...

    def body(
        self, settings: LlmSettings, messages: Sequence[Message], tools: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        """Return a request with the messages and tools of a conversation."""
        ...

    def answer(self, body: Mapping[str, Any]) -> Answer:
        """Return the answer in a response.

        Raises UnusableAnswerError, and KeyError, TypeError or a similar error if the body is not a response.
        """
        ...


def count(usage: Any, *names: str) -> int | None:
    """Return the token count at a path in the usage; None if there is none."""
    for name in names:
        usage = usage.get(name) if isinstance(usage, dict) else None
    return usage if isinstance(usage, int) and not isinstance(usage, bool) and usage >= 0 else None


def native_parts(parts: Any) -> list[dict[str, Any]]:
    """Return the parts of a response without null fields. Raises TypeError if they are not a list of objects."""
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise TypeError(parts)
    return [{name: value for name, value in part.items() if value is not None} for part in parts]


def without_last(parts: Sequence[dict[str, Any]], kinds: Collection[str]) -> list[dict[str, Any]]:
    """Return the parts without trailing parts of some kinds: APIs reject reasoning at the end of a message."""
    kept = list(parts)
    while kept and kept[-1].get("type") in kinds:
        kept.pop()
    return kept


def joined(parts: Sequence[Any], field: str) -> str:
    """Return the concatenated texts in a field of the parts; parts without it are ignored."""
    return "".join(part[field] for part in parts if isinstance(part, dict) and isinstance(part.get(field), str))


def call_part(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a tool call of a chat completions message."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer_message(text: str, reasoning: str, calls: Sequence[dict[str, Any]], native: list[dict[str, Any]]) -> Message:
    """Return a chat completions message with the native parts of another API."""
    message: Message = {"role": "assistant", "content": text or None, NATIVE: native}
    if reasoning:
        message["reasoning"] = reasoning
    if calls:
        message["tool_calls"] = list(calls)
    return message
