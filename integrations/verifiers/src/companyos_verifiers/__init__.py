"""Verifiers taskset: the tasks of a split, played over OpenEnv on a running server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import httpx
import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness
from verifiers.v1.tasksets.openenv import OpenEnvConfig, OpenEnvData, OpenEnvEnv, OpenEnvTask

__all__ = ["CompanyOSTaskset", "NullHarness", "OpenEnvEnv"]

TIMEOUT_S = 60.0


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
