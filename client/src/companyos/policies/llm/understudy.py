"""The understudy: a policy that is no model plays a model's part behind the stub server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from companyos.contract import ToolSpec
from companyos.policies.llm.prompt import read_result_text, read_task_text, task_part
from companyos.policies.llm.stub import Asked, Reply, call_part, completion
from companyos.policies.policy import Policy, StepView, TaskView

LAST_WORDS = "I have done what I could."


class Understudy:
    """Answers every conversation with the calls that a policy of its own makes there, one call in each message.

    The path of a request names the scenario, which some policies ask for and no model is told.
    """

    def __init__(self, make_worker: Callable[[], Policy]) -> None:
        self._make_worker = make_worker
        self._parts: dict[tuple[str, str], _Part] = {}

    async def reply(self, asked: Asked) -> Reply:
        """Return the next call of the conversation; a text where the policy is at its end."""
        messages = asked.body["messages"]
        key = asked.path, task_part(messages[1]["content"])
        if all(message["role"] != "assistant" for message in messages):
            task = read_task_text(key[1], _tools(asked.body["tools"]), asked.path)
            self._parts[key] = _Part(self._make_worker(), task)
        last = messages[-1]
        step = read_result_text(last["content"]) if last["role"] == "tool" else None
        called = await self._parts[key].next_call(step)
        if called is None:
            return completion({"content": LAST_WORDS}, asked)
        number, tool, arguments = called
        return completion({"tool_calls": [call_part(f"call_{number}", tool, arguments)]}, asked)


class _Part:
    """One conversation: the policy waits in its call until the next request brings what came of it."""

    def __init__(self, worker: Policy, task: TaskView) -> None:
        self._calls: asyncio.Queue[tuple[int, str, dict[str, Any]] | None] = asyncio.Queue()
        self._steps: asyncio.Queue[StepView] = asyncio.Queue()
        self._made = 0
        self._playing = asyncio.create_task(self._play(worker, task))

    async def next_call(self, step: StepView | None) -> tuple[int, str, dict[str, Any]] | None:
        if step is not None:
            self._steps.put_nowait(step)
        if self._playing.done():
            return None
        called = await self._calls.get()
        if called is None:
            await self._playing
        return called

    async def _play(self, worker: Policy, task: TaskView) -> None:
        try:
            await worker.play(task, self._call)
        finally:
            self._calls.put_nowait(None)

    async def _call(self, tool: str, arguments: dict[str, Any], /) -> StepView:
        self._made += 1
        self._calls.put_nowait((self._made, tool, arguments))
        return await self._steps.get()


def _tools(listed: list[dict[str, Any]]) -> tuple[ToolSpec, ...]:
    functions = [tool["function"] for tool in listed]
    return tuple(
        ToolSpec(name=one["name"], description=one["description"], input_schema=one["parameters"]) for one in functions
    )
