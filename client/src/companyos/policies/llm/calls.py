"""Tool calls of a model's message; each becomes one step, well-formed or not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from companyos_shared.wire.strict_json import parse_object

MALFORMED = "malformed_json"
"""Argument name for unreadable arguments; it matches no schema, so the step is invalid."""

_KEPT_CHARS = 2_000
_NAME_CHARS = 200
_API_NAME_CHARS = 64
_NOT_IN_API_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call. `fault` is the reason why the arguments could not be read; `arguments` then contain the raw text."""

    id: str
    tool: str
    arguments: dict[str, Any]
    fault: str | None = None

    def as_message_part(self) -> dict[str, Any]:
        """Return the call for the next request, with a name and arguments that every endpoint accepts."""
        arguments = json.dumps(self.arguments, ensure_ascii=False)
        name = _NOT_IN_API_NAMES.sub("_", self.tool)[:_API_NAME_CHARS] or "_"
        return {"id": self.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_calls(message: Mapping[str, Any], *, first: int = 0) -> list[ToolCall]:
    """Return the calls of a message in order; calls without an id are numbered from `first`."""
    listed = message.get("tool_calls")
    if not isinstance(listed, list):
        return []
    return [_call(part if isinstance(part, dict) else {}, first + place) for place, part in enumerate(listed)]


def _call(part: Mapping[str, Any], number: int) -> ToolCall:
    function = part.get("function")
    call_function: Mapping[str, Any] = function if isinstance(function, dict) else {}
    arguments, fault = read_arguments(call_function.get("arguments"))
    return ToolCall(
        id=str(part.get("id") or f"call_{number}"),
        tool=str(call_function.get("name") or "")[:_NAME_CHARS],
        arguments=arguments,
        fault=fault,
    )


def read_arguments(raw: Any) -> tuple[dict[str, Any], str | None]:
    """Return the arguments and their fault; missing arguments are an empty object."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}, None
    try:
        parsed = json.loads(raw, parse_constant=_reject_constant) if isinstance(raw, str) else raw
        json.dumps(parsed, ensure_ascii=False, allow_nan=False).encode()
        parse_object(json.dumps(_as_step_message(parsed)))
    except RecursionError:
        fault = "it is nested too deeply"
    except (ValueError, TypeError) as error:
        fault = str(error).removesuffix(".")
    else:
        if isinstance(parsed, dict):
            return parsed, None
        fault = f"it is a JSON {_json_type(parsed)}"
    text = raw if isinstance(raw, str) else repr(raw)
    return {MALFORMED: text[:_KEPT_CHARS]}, f"The arguments must be a JSON object: {fault}. The call was not made."


def _as_step_message(arguments: Any) -> dict[str, Any]:
    """Return a step message with the longest tool name, to check the server's limits of size and depth."""
    action = {"type": "call_tool", "metadata": {}, "tool_name": "\0" * _NAME_CHARS, "arguments": arguments}
    return {"type": "step", "data": action}


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case _:
            return "null"
