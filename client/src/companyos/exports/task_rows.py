"""Reads tasks as rows: position, brief and tools, without hints to the solution."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from companyos.client import CompanyOSEnv
from companyos.contract import Split, TaskInfo, ToolSpec
from companyos.policies import TaskView
from companyos.policies.llm.prompt import system_text, task_text
from companyos_shared.streams import Stream

PARALLEL = 4
"""Number of concurrent sessions."""


class TaskRow(BaseModel):
    """One exported task of the task set."""

    model_config = ConfigDict(extra="forbid")

    id: str
    split: Split
    index: int | None
    scenario: str
    group: str
    chaos: int
    difficulty: str
    held_out: bool = Field(description="Whether the structure of the task occurs only in this split.")
    seed: int
    brief: str
    company: str
    acting_as: str
    now: datetime = Field(description="Simulated time at the start.")
    max_steps: int
    tools: list[str] = Field(description="Names of the scenario's tools and distractors.")
    task_set: str = Field(description="Version of the task set; report it with results.")
    canary: str


@dataclass(frozen=True)
class TaskWithTools:
    """A task with its tools; if chaos renames fields, the schemas differ per task."""

    row: TaskRow
    tools: tuple[ToolSpec, ...]

    @property
    def prompt_texts(self) -> tuple[str, str]:
        """The system prompt and the initial task text, identical to those of `companyos eval --policy llm`."""
        row = self.row
        view = TaskView(
            scenario=row.scenario,
            brief=row.brief,
            company=row.company,
            acting_as=row.acting_as,
            now=row.now,
            steps_left=row.max_steps,
            tools=self.tools,
            stream=Stream("export", row.id),
        )
        return system_text(view), task_text(view)


async def read_tasks_with_tools(
    url: str, tasks: Iterable[TaskInfo], *, token: str | None, on_read: Callable[[], None] = lambda: None
) -> list[TaskWithTools]:
    """Reset each task once and return the tasks with their tools. Raises ApiError and ConnectionError."""
    pending = iter(enumerate(tasks))
    offered: dict[int, TaskWithTools] = {}
    tool_cache: dict[str, ToolSpec] = {}

    async def worker() -> None:
        async with CompanyOSEnv(base_url=url, token=token) as env:
            for position, task in pending:
                offered[position] = await _read_task(env, task, tool_cache)
                on_read()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(PARALLEL):
                group.create_task(worker())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [offered[position] for position in sorted(offered)]


async def _read_task(env: CompanyOSEnv, task: TaskInfo, tool_cache: dict[str, ToolSpec]) -> TaskWithTools:
    """Reset a task and return it with its tools; identical tools of several tasks share one object."""
    first = (await env.reset(task_id=task.id, toolset="task")).observation
    state = await env.state()
    tools = tuple(tool_cache.setdefault(tool.model_dump_json(), tool) for tool in await env.list_tools())
    row = TaskRow(
        **task.model_dump(exclude={"brief", "version"}),
        task_set=task.version,
        seed=state.seed or 0,
        brief=first.brief,
        company=first.company,
        acting_as=first.acting_as,
        now=first.now,
        max_steps=state.max_steps or first.steps_left,
        tools=[tool.name for tool in tools],
    )
    return TaskWithTools(row, tools)
