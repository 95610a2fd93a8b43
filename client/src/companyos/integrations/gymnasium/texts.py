"""Texts both ways: the spaces, and what is read from an action."""

from __future__ import annotations

import json
from typing import Any

from gymnasium import spaces

from companyos.policies import StepView
from companyos.policies.llm.calls import MALFORMED, read_arguments

LONGEST_OBSERVATION = 65_536
"""Characters. A page of a list is the longest answer that services give; pages end long before."""

LONGEST_ACTION = 8_192
"""Characters: even where JSON writes each as six bytes, they are within the 65,536 bytes that a server reads."""

CHARSET = frozenset(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x250), *range(0x2010, 0x2040), *range(0x20A0, 0x20C0)]))
"""Latin letters, punctuation and currencies. JSON escapes every other character."""

_SHAPE = 'An action is {"tool_name": "...", "arguments": {...}}.'


def observation_space() -> spaces.Text:
    """Return the space of what an agent is told: a JSON object."""
    return spaces.Text(LONGEST_OBSERVATION, charset=CHARSET)


def action_space() -> spaces.Text:
    """Return the space of what an agent says: a JSON object that names a tool and its arguments."""
    return spaces.Text(LONGEST_ACTION, charset=CHARSET)


def observed(told: dict[str, Any]) -> str:
    """Return an observation as JSON within the space."""
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return "".join(sign if sign in CHARSET else json.dumps(sign)[1:-1] for sign in text)


def step_told(step: StepView, fault: str | None) -> dict[str, Any]:
    """Return what a step brought, without its reward; `fault` says why the action could not be read."""
    told = {"result": step.result} if step.error is None else {"error": step.error, "message": fault or step.message}
    return told | {"now": step.now.isoformat(), "steps_left": step.steps_left}


def read_action(text: str) -> tuple[str, dict[str, Any], str | None]:
    """Return the tool, its arguments, and what is wrong with an action: it then names no tool, which costs a step."""
    found, fault = read_arguments(text)
    match found:
        case {"tool_name": str(tool), "arguments": dict(arguments)} if fault is None:
            return tool, arguments, None
        case {"tool_name": str(tool)} if fault is None and "arguments" not in found:
            return tool, {}, None
    return "", {MALFORMED: text[:LONGEST_ACTION]}, f"{_SHAPE} {fault}" if fault else _SHAPE
