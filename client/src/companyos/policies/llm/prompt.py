"""Formats and parses the texts exchanged between policy and model."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from companyos.contract import ToolSpec
from companyos.policies.policy import StepView, TaskView
from companyos_shared.streams import Stream

_SYSTEM = """\
You work for {company} as the employee {acting_as}. You act through tools and through nothing else.

- Every tool call is one step, and the number of steps is limited.
- Several calls in one message are executed in order.
- A message without a tool call has no effect: it is not read, and questions are not answered.
- When the work is done, or when it must not or cannot be done, say so with `finish`."""

_TASK = """\
{brief}

Company: {company}
Your employee id: {acting_as}
Now: {now}
Steps left: {steps_left}"""

_TASK_PATTERN = re.compile(
    r"(?P<brief>.*?)\n\nCompany: (?P<company>.*)\nYour employee id: (?P<acting_as>.*)\nNow: (?P<now>.*)\n"
    r"Steps left: (?P<steps_left>\d+)",
    re.DOTALL,
)

REMINDER = "That message contains no tool call and had no effect. Continue by calling a tool; `finish` ends the work."


def system_text(task: TaskView) -> str:
    """Return the system message."""
    return _SYSTEM.format(company=task.company, acting_as=task.acting_as)


def task_text(task: TaskView) -> str:
    """Return the task text: the first observation."""
    return _TASK.format(
        brief=task.brief,
        company=task.company,
        acting_as=task.acting_as,
        now=_format_time(task.now),
        steps_left=task.steps_left,
    )


def extract_task(text: str) -> str:
    """Return the task part of a message. Raises ValueError if there is none."""
    task_match = _TASK_PATTERN.match(text)
    if task_match is None:
        raise ValueError("the message contains no task")
    return task_match[0]


def parse_task_text(text: str, tools: tuple[ToolSpec, ...], scenario: str) -> TaskView:
    """Parse a task text. Raises ValueError if it contains no task."""
    task_match = _TASK_PATTERN.fullmatch(text)
    if task_match is None:
        raise ValueError("the message contains no task")
    return TaskView(
        scenario=scenario,
        brief=task_match["brief"],
        company=task_match["company"],
        acting_as=task_match["acting_as"],
        now=datetime.fromisoformat(task_match["now"]),
        steps_left=int(task_match["steps_left"]),
        tools=tools,
        stream=Stream("read-back", scenario, text),
    )


def result_text(step: StepView, fault: str | None = None) -> str:
    """Return the result of a step without its reward; `fault` is the reason why the arguments could not be read."""
    payload = {"result": step.result} if step.error is None else {"error": step.error, "message": fault or step.message}
    payload |= {"now": _format_time(step.now), "steps_left": step.steps_left}
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def parse_result_text(text: str) -> StepView:
    """Parse a result text; the reward of the step is unknown and set to 0."""
    payload = json.loads(text)
    return StepView(
        result=payload.get("result"),
        error=payload.get("error"),
        message=payload.get("message"),
        reward=0.0,
        done=False,
        now=datetime.fromisoformat(payload["now"]),
        steps_left=payload["steps_left"],
    )


def tool_formats(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    """Return the tools in the chat completions format."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
        }
        for tool in tools
    ]


def _format_time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
