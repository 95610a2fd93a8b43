"""Reads the messages of a model that the runner stored, each with the step that followed it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from companyos.viewer.document import Message

_THOUGHTS = ("reasoning", "reasoning_content")
"""Fields in which endpoints return the reasoning of a model."""


def read_messages(file: Path, display_name: str) -> tuple[list[Message], list[str]]:
    """Return the messages of a file and its faults; a missing file has neither.

    Tool results are omitted, since they are shown with their step.
    """
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"{display_name}: {error.strerror or error}"]
    messages: list[Message] = []
    faults: list[str] = []
    calls = 0
    for number, line in enumerate(filter(None, raw.split(b"\n")), start=1):
        try:
            line_object = json.loads(line)
            if not isinstance(line_object, dict):
                raise ValueError("not a JSON object")
            line_messages = list(_parse_line(line_object, calls))
        except (ValueError, RecursionError) as error:
            faults.append(f"{display_name}, line {number}: {error}")
            continue
        messages += line_messages
        calls += sum(each.calls for each in line_messages)
    return messages, faults


def _parse_line(line: dict[str, Any], calls: int) -> Iterator[Message]:
    """Yield the messages of a line; `calls` is the number of earlier calls."""
    match line.get("kind"), line.get("message"):
        case "answer", dict(message):
            made = message.get("tool_calls")
            count = len(made) if isinstance(made, list) else 0
            yield Message(
                role="model",
                text=_text(message.get("content")),
                thought="\n".join(filter(None, (_text(message.get(name)) for name in _THOUGHTS))) or None,
                step=calls + 1 if count else None,
                calls=count,
                tokens=_number(line.get("completion_tokens")),
                seconds=_number(line.get("latency_s")),
            )
        case "message", {"role": str(role), **message_fields} if role != "tool":
            yield Message(role=role, text=_text(message_fields.get("content")))
        case "dropped", _:
            note = (
                f"{line.get('results', 0)} tool results and {line.get('turns', 0)} turns were dropped to save context"
            )
            yield Message(role="note", text=note)
        case "failed" | "stopped", _:
            yield Message(role="note", text=f"{line['kind']}: {_text(line.get('why'))}")


def _text(content: Any) -> str:
    """Return the text of a message, whose content may be a string or parts."""
    if isinstance(content, list):
        return "\n".join(filter(None, (_text(part.get("text")) for part in content if isinstance(part, dict))))
    return content if isinstance(content, str) else ""


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
