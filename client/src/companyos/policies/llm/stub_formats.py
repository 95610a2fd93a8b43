"""The server's side of each API, for the stub: reads requests as chat completions messages, and writes responses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from companyos.policies.llm.apis import anthropic, chat, responses
from companyos.policies.llm.apis.api import Message, call_part

_CREATED_AT = 1_700_000_000


class StubFormat(Protocol):
    """Reads requests and writes responses of one API."""

    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        """Return the messages of a request.

        Raises ValueError, TypeError, LookupError or AttributeError if it is invalid.
        """
        ...

    def functions(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return name, description and parameters of each tool."""
        ...

    def answer(self, message: Message, model: Any, tokens: tuple[int, int]) -> dict[str, Any]:
        """Return the body of a response with a message and the tokens of prompt and completion."""
        ...

    def error(self, message: str, code: str | None) -> dict[str, Any]:
        """Return the body of an error."""
        ...


class _Chat:
    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        return list(body["messages"])

    def functions(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [tool["function"] for tool in body["tools"]]

    def answer(self, message: Message, model: Any, tokens: tuple[int, int]) -> dict[str, Any]:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": None, "refusal": None, **message},
            "logprobs": None,
            "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
        }
        prompt, completion = tokens
        return {
            "id": "chatcmpl-stub",
            "object": "chat.completion",
            "created": _CREATED_AT,
            "model": model,
            "choices": [choice],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }

    def error(self, message: str, code: str | None) -> dict[str, Any]:
        return {"error": {"message": message, "type": "stub", "param": None, "code": code}}


class _Responses:
    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        messages: list[Message] = [{"role": "system", "content": body["instructions"]}]
        for item in body["input"]:
            match item.get("type", "message"):
                case "function_call":
                    call = call_part(item["call_id"], item["name"], item["arguments"])
                    if messages[-1]["role"] != "assistant":
                        messages.append({"role": "assistant", "content": None})
                    messages[-1].setdefault("tool_calls", []).append(call)
                case "function_call_output":
                    messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
                case "message" if item["role"] == "assistant":
                    messages.append({"role": "assistant", "content": item["content"][0]["text"]})
                case "message":
                    messages.append({"role": item["role"], "content": item["content"]})
        return messages

    def functions(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{name: tool[name] for name in ("name", "description", "parameters")} for tool in body["tools"]]

    def answer(self, message: Message, model: Any, tokens: tuple[int, int]) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if message.get("content") is not None:
            part = {"type": "output_text", "text": message["content"], "annotations": []}
            output.append({"type": "message", "id": "msg_stub", "role": "assistant", "status": "completed"})
            output[-1]["content"] = [part]
        output += [
            {
                "type": "function_call",
                "id": f"fc_{call['id']}",
                "call_id": call["id"],
                "status": "completed",
                **call["function"],
            }
            for call in message.get("tool_calls", ())
        ]
        prompt, completion = tokens
        return {
            "id": "resp_stub",
            "object": "response",
            "created_at": _CREATED_AT,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": model,
            "output": output,
            "usage": {
                "input_tokens": prompt,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": completion,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": prompt + completion,
            },
        }

    def error(self, message: str, code: str | None) -> dict[str, Any]:
        return _Chat().error(message, code)


class _Anthropic:
    def messages(self, body: Mapping[str, Any]) -> list[Message]:
        if not isinstance(body.get("max_tokens"), int):
            raise ValueError("max_tokens: Field required")
        messages: list[Message] = [{"role": "system", "content": body["system"]}]
        for message in body["messages"]:
            messages += self._read(message["role"], message["content"])
        return messages

    def _read(self, role: str, blocks: Sequence[dict[str, Any]]) -> Iterator[Message]:
        if not blocks or any(not block["text"].strip() for block in blocks if block["type"] == "text"):
            raise ValueError("messages: text content blocks must be non-empty")
        text = "".join(block["text"] for block in blocks if block["type"] == "text") or None
        calls = [
            call_part(block["id"], block["name"], json.dumps(block["input"]))
            for block in blocks
            if block["type"] == "tool_use"
        ]
        for block in blocks:
            if block["type"] == "tool_result":
                yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
        if role == "assistant" or text is not None:
            yield {"role": role, "content": text} | ({"tool_calls": calls} if calls else {})

    def functions(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            {"name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"]}
            for tool in body["tools"]
        ]

    def answer(self, message: Message, model: Any, tokens: tuple[int, int]) -> dict[str, Any]:
        content = [{"type": "text", "text": message["content"]}] if message.get("content") is not None else []
        reason = "tool_use" if message.get("tool_calls") else "end_turn"
        for call in message.get("tool_calls", ()):
            try:
                arguments = json.loads(call["function"]["arguments"])
            except ValueError:
                arguments, reason = {}, "max_tokens"  # the API returns no text of an incomplete call
            content.append({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments})
        prompt, completion = tokens
        return {
            "id": "msg_stub",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {
                "input_tokens": prompt,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": completion,
            },
        }

    def error(self, message: str, code: str | None) -> dict[str, Any]:
        return {"type": "error", "error": {"type": code or "stub", "message": message}}


FORMATS: Mapping[str, StubFormat] = {
    chat.PATH: _Chat(),
    responses.PATH: _Responses(),
    anthropic.PATH: _Anthropic(),
}
"""Format of each API by its path."""


def check_results(messages: Sequence[Message]) -> None:
    """Raise ValueError, like every API, if a call is not followed by its result or a result has no call."""
    open_calls: list[Any] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                raise ValueError(f"the result of {message['tool_call_id']} has no call before it")
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            raise ValueError(f"the call {open_calls[0]} has no result after it")
        else:
            open_calls = [call["id"] for call in message.get("tool_calls", ())]
    if open_calls:
        raise ValueError(f"the call {open_calls[0]} has no result after it")
