"""Stub server script that responds, in place of a model, with the calls of another policy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from companyos.contract import ToolSpec
from companyos.policies.llm.apis.api import call_part
from companyos.policies.llm.prompt import extract_task, parse_result_text, parse_task_text
from companyos.policies.llm.stub import Reply, StubRequest, completion
from companyos.policies.policy import Policy, StepView, TaskView

FINAL_MESSAGE = "I have done what I could."


class PolicyBackedStub:
    """Responds in every conversation with the calls of a policy, one call per message.

    The request path contains the scenario, which some policies need and models do not see.
    """

    def __init__(self, make_policy: Callable[[], Policy]) -> None:
        self._make_policy = make_policy
        self._conversations: dict[tuple[str, str], _Conversation] = {}

    async def reply(self, received: StubRequest) -> Reply:
        """Return the next call of the conversation, or a text once the policy has ended."""
        messages = received.messages
        key = received.path, extract_task(messages[1]["content"])
        if all(message["role"] != "assistant" for message in messages):
            task = parse_task_text(key[1], _tools(received.functions), received.path)
            self._conversations[key] = _Conversation(self._make_policy(), task)
        last = messages[-1]
        step = parse_result_text(last["content"]) if last["role"] == "tool" else None
        tool_call = await self._conversations[key].next_call(step)
        if tool_call is None:
            return completion({"content": FINAL_MESSAGE}, received)
        number, tool, arguments = tool_call
        return completion({"tool_calls": [call_part(f"call_{number}", tool, json.dumps(arguments))]}, received)


class _Conversation:
    """One conversation: the policy waits in its call until the next request contains the result."""

    def __init__(self, policy: Policy, task: TaskView) -> None:
        self._calls: asyncio.Queue[tuple[int, str, dict[str, Any]] | None] = asyncio.Queue()
        self._steps: asyncio.Queue[StepView] = asyncio.Queue()
        self._calls_made = 0
        self._policy_task = asyncio.create_task(self._play(policy, task))

    async def next_call(self, step: StepView | None) -> tuple[int, str, dict[str, Any]] | None:
        if step is not None:
            self._steps.put_nowait(step)
        if self._policy_task.done():
            return None
        tool_call = await self._calls.get()
        if tool_call is None:
            await self._policy_task
        return tool_call

    async def _play(self, policy: Policy, task: TaskView) -> None:
        try:
            await policy.play(task, self._call)
        finally:
            self._calls.put_nowait(None)

    async def _call(self, tool: str, arguments: dict[str, Any], /) -> StepView:
        self._calls_made += 1
        self._calls.put_nowait((self._calls_made, tool, arguments))
        return await self._steps.get()


def _tools(functions: list[dict[str, Any]]) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(name=function["name"], description=function["description"], input_schema=function["parameters"])
        for function in functions
    )
