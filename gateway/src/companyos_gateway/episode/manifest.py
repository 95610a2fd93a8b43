"""The manifest of an episode: what it is played on. Writing it under its name is the one commit point."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import ResetOptions
from companyos_gateway.episode.task import TaskKey

FORMAT = 1


class Manifest(BaseModel):
    """One epoch of one episode. `planned` are the sources of its task, `sources` those that the epoch starts from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = FORMAT
    version: str = Field(description="The version of the gateway that wrote it.")
    id: str = Field(description="The client's label.")
    internal_id: str
    epoch: int = Field(ge=1)
    lineage: str = Field(description="The reset that the episode comes from; forks and restores keep it.")
    task: TaskKey
    options: ResetOptions
    planned: dict[str, str]
    sources: dict[str, str]
    is_over: bool = Field(False, description="Only the databases are kept.")
