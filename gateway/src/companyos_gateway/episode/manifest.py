"""The manifest of an episode: what it is played on. Writing it under its name is the one commit point."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from companyos.contract import ResetOptions
from companyos_gateway.episode.task import TaskKey
from companyos_gateway.taskset import TaskRef
from companyos_shared.wire.context import EPISODE_PATTERN, SOURCE_PATTERN

FORMAT = 1

_Source = Annotated[str, Field(pattern=SOURCE_PATTERN)]


class Manifest(BaseModel):
    """One epoch of one episode. `planned` are the sources of its task, `sources` those that the epoch starts from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = FORMAT
    version: str = Field(description="The version of the gateway that wrote it.")
    id: str = Field(description="The client's label.")
    internal_id: str = Field(pattern=EPISODE_PATTERN)
    epoch: int = Field(ge=1)
    lineage: str = Field(description="The reset that the episode comes from; forks and restores keep it.")
    task: TaskKey
    options: ResetOptions
    planned: dict[str, _Source]
    sources: dict[str, _Source]
    published: TaskRef | None = Field(None, description="The task of the task set that was asked for, if one was.")
    batch: str | None = Field(None, description="The fork that made the episode with others, all of them or none.")
    is_over: bool = Field(False, description="Only the databases are kept.")

    @model_validator(mode="after")
    def _of_the_same_services(self) -> Self:
        if self.planned.keys() != self.sources.keys():
            raise ValueError("what was planned and what is begun from are of different services")
        return self
