"""Text spaces of observations and actions, and their parsing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gymnasium import spaces

from companyos.policies import StepView
from companyos.policies.llm.calls import MALFORMED, read_arguments

MAX_OBSERVATION_CHARS = 65_536
"""Maximum characters of an observation. A list page is the longest response of a service and is much shorter."""

MAX_ACTION_CHARS = 8_192
"""Maximum characters of an action: even with six-byte JSON escapes it fits the server's limit of 65,536 bytes."""

CHARSET = frozenset(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x250), *range(0x2010, 0x2040), *range(0x20A0, 0x20C0)]))
"""Latin letters, punctuation and currency signs. JSON escapes every other character."""

_SHOWN_CHARS = 80
_KEYS, _OTHER_KEYS = {"tool_name", "arguments"}, {"type", "metadata"}
"""Keys of an action, and the other ones of OpenEnv's actions, which are ignored."""

_ACTION_FORMAT = 'An action is {"tool_name": "...", "arguments": {...}}.'


def observation_space() -> spaces.Text:
    """Return the observation space: JSON objects."""
    return spaces.Text(MAX_OBSERVATION_CHARS, charset=CHARSET)


def action_space() -> spaces.Text:
    """Return the action space: JSON objects with a tool name and its arguments."""
    return spaces.Text(MAX_ACTION_CHARS, charset=CHARSET)


def encode_observation(payload: dict[str, Any]) -> str:
    """Return an observation as JSON text of the space."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return "".join(char if char in CHARSET else json.dumps(char)[1:-1] for char in text)


def step_payload(step: StepView, fault: str | None) -> dict[str, Any]:
    """Return the result of a step without its reward; `fault` is the reason why the action was unreadable."""
    payload: dict[str, Any] = {"result": step.result}
    if fault is not None:
        payload = {"error": "invalid_args", "message": fault}
    elif step.error is not None:
        payload = {"error": step.error, "message": step.message}
    return payload | {"now": step.now.isoformat(), "steps_left": step.steps_left}


def parse_action(text: str) -> tuple[str, dict[str, Any], str | None]:
    """Return the tool, its arguments, and the fault of an action. An unreadable action has no tool and costs a step."""
    parsed, fault = read_arguments(text)
    fault = fault or "; ".join(_key_faults(parsed))
    if fault:
        return "", {MALFORMED: text[:MAX_ACTION_CHARS]}, f"{_ACTION_FORMAT} {fault}"
    return parsed["tool_name"], parsed.get("arguments", {}), None


def _key_faults(action: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of an action that are missing or of another type, and the unknown ones that may stand for them."""
    if not action.keys() >= _KEYS:
        yield from (f"unknown key {_shortened(key)}" for key in sorted(action.keys() - _KEYS - _OTHER_KEYS))
    if "tool_name" not in action:
        yield "tool_name is missing"
    elif not isinstance(action["tool_name"], str):
        yield f"tool_name must be a string; got {_shortened(action['tool_name'])}"
    if not isinstance(arguments := action.get("arguments", {}), dict):
        yield f"arguments must be an object; got {_shortened(arguments)}"


def _shortened(value: Any) -> str:
    return json.dumps(value)[:_SHOWN_CHARS]
