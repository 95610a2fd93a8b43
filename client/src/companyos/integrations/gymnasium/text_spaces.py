"""Texts both ways: the spaces, and what is read from an action."""

from __future__ import annotations

import json
from typing import Any

from gymnasium import spaces

from companyos.policies import StepView
from companyos.policies.llm.calls import MALFORMED, read_arguments

MAX_OBSERVATION_CHARS = 65_536
"""Characters. A page of a list is the longest answer that services give; pages end long before."""

MAX_ACTION_CHARS = 8_192
"""Characters: even where JSON writes each as six bytes, they are within the 65,536 bytes that a server reads."""

CHARSET = frozenset(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x250), *range(0x2010, 0x2040), *range(0x20A0, 0x20C0)]))
"""Latin letters, punctuation and currencies. JSON escapes every other character."""

_ACTION_FORMAT = 'An action is {"tool_name": "...", "arguments": {...}}.'


def observation_space() -> spaces.Text:
    """Return the space of what an agent is told: a JSON object."""
    return spaces.Text(MAX_OBSERVATION_CHARS, charset=CHARSET)


def action_space() -> spaces.Text:
    """Return the space of what an agent says: a JSON object that names a tool and its arguments."""
    return spaces.Text(MAX_ACTION_CHARS, charset=CHARSET)


def encode_observation(payload: dict[str, Any]) -> str:
    """Return an observation as JSON within the space."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return "".join(char if char in CHARSET else json.dumps(char)[1:-1] for char in text)


def step_payload(step: StepView, fault: str | None) -> dict[str, Any]:
    """Return what a step brought, without its reward; `fault` says why the action could not be read."""
    payload = {"result": step.result} if step.error is None else {"error": step.error, "message": fault or step.message}
    return payload | {"now": step.now.isoformat(), "steps_left": step.steps_left}


def parse_action(text: str) -> tuple[str, dict[str, Any], str | None]:
    """Return the tool, its arguments, and what is wrong with an action: it then names no tool, which costs a step."""
    parsed, fault = read_arguments(text)
    match parsed:
        case {"tool_name": str(tool), "arguments": dict(arguments)} if fault is None:
            return tool, arguments, None
        case {"tool_name": str(tool)} if fault is None and "arguments" not in parsed:
            return tool, {}, None
    return "", {MALFORMED: text[:MAX_ACTION_CHARS]}, f"{_ACTION_FORMAT} {fault}" if fault else _ACTION_FORMAT
