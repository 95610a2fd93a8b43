"""Verifiers taskset: the tasks of a split, played over OpenEnv on a running server.

`CompanyOSEnv` plays like the OpenEnv environment of verifiers, and abandons an episode that a limit cuts off.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import httpx
import verifiers.v1 as vf
from openenv import GenericEnvClient
from openenv.core import CallToolAction
from verifiers.v1.harnesses.null import NullHarness
from verifiers.v1.tasksets.openenv import OpenEnvConfig, OpenEnvData, OpenEnvEnv, OpenEnvTask
from verifiers.v1.tasksets.openenv.taskset import parse_action

__all__ = ["CompanyOSEnv", "CompanyOSTaskset", "NullHarness"]

TIMEOUT_S = 60.0
GIVE_UP = {"outcome": "impossible", "summary": "The policy gave up."}
"""Arguments of the `finish` that ends an abandoned episode."""


class CompanyOSConfig(OpenEnvConfig):
    """Selection of tasks: split, scenario, level and count."""

    base_url: str | None = "http://127.0.0.1:8000"
    split: Literal["train", "validation", "test"] = "train"
    scenario: str | None = None
    chaos: int | None = None
    count: int | None = None
    toolset: Literal["task", "all"] = "task"


class CompanyOSTaskset(vf.Taskset[OpenEnvTask, CompanyOSConfig]):
    """Taskset with one task per CompanyOS task; the model answers with actions as JSON."""

    def load(self) -> Iterator[OpenEnvTask]:
        """Yield the tasks. Raises httpx.HTTPError if the server is unreachable."""
        config = self.config
        answer = httpx.post(
            f"{config.base_url}/companyos/task_range", json={"split": config.split}, timeout=TIMEOUT_S
        ).raise_for_status()
        selected = [
            task
            for task in answer.json()["tasks"]
            if config.scenario in (None, task["scenario"]) and config.chaos in (None, task["chaos"])
        ]
        for task in selected[: config.count]:
            data = OpenEnvData(
                name=task["id"],
                prompt=None,
                env=None,
                base_url=config.base_url,
                use_docker=False,
                provider_kwargs={},
                reset={"task_id": task["id"], "toolset": config.toolset},
            )
            yield OpenEnvTask(data, config.task)


class CompanyOSEnv(OpenEnvEnv):
    """Plays one episode per task: each reply is an action as JSON, and the reward is the return of the episode."""

    async def run(self, task: OpenEnvTask, agents: Any) -> None:
        """Play until the episode or the model's interaction ends; abandon the episode if it is live."""
        async with GenericEnvClient(base_url=task.data.base_url) as client:
            listed = await client.step({"type": "list_tools"})
            schema = CallToolAction.model_json_schema() | {"available_tools": listed.observation["tools"]}
            result = await client.reset(**task.data.reset)
            total = 0.0
            async with agents.player.interaction(task) as interaction:
                while not result.done:
                    shown = {"observation": result.observation, "action_schema": schema}
                    segment = await interaction.turn(json.dumps(shown, ensure_ascii=False))
                    reply = segment.last_reply.strip()
                    if segment.terminated:
                        break
                    if not reply:
                        interaction.trace.stop("empty_action")
                        break
                    result = await client.step(parse_action(reply, schema))
                    total += result.reward or 0.0
            if not result.done:
                result = await client.step({"type": "call_tool", "tool_name": "finish", "arguments": GIVE_UP})
                total += result.reward or 0.0
        interaction.trace.record_reward("openenv_reward", total)
