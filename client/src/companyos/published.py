"""What is published: scenarios, tools, the splits of the task set, and tasks without what helps to do them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Split(StrEnum):
    """What tasks are for: to learn from, to choose by, and to measure with."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class SplitInfo(BaseModel):
    """One split of the task set."""

    model_config = ConfigDict(extra="forbid")

    name: Split
    type: Split = Field(description="OpenEnv's word for what a split is for: the same.")
    num_tasks: int
    version: str = Field(description="The version of the task set; results name it.")
    canary: str


class TaskInfo(BaseModel):
    """One task as it is published: nothing in it helps to do it."""

    model_config = ConfigDict(extra="forbid")

    id: str
    split: Split
    index: int = Field(ge=0)
    difficulty: str = Field(description="The name of the chaos level: calm, light, moderate, heavy, storm.")
    group: str = Field(description="What tasks have in common: the scenario.")
    scenario: str
    chaos: int
    held_out: bool = Field(description="Whether the structure of the task occurs in no other split.")
    brief: str | None = Field(None, description="What the agent is told; only where one task is asked for.")
    version: str = Field(description="The version of the task set; results name it.")
    canary: str = Field(description="Marks the task wherever it is copied to: not to learn from.")


class ScenarioInfo(BaseModel):
    """One scenario as people are told of it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    summary: str = Field(description="What there is to do, in one sentence.")


class ToolSpec(BaseModel):
    """One tool as an agent is offered it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    input_schema: dict[str, Any]
