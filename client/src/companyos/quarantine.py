"""What the gateway tells of its quarantine: files that it could not read, and moved aside instead of deleting them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

QUARANTINE_ID = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,159}$"


class QuarantineKind(StrEnum):
    """What is in quarantine: an episode, a snapshot, or databases that no episode and no snapshot names."""

    EPISODE = "episode"
    SNAPSHOT = "snapshot"
    DATABASES = "databases"


class QuarantineItem(BaseModel):
    """Files that belong together in quarantine, and why they are there."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(pattern=QUARANTINE_ID)
    kind: QuarantineKind
    episode_id: str | None = Field(None, description="The client's label of the episode, as far as it could be read.")
    internal_id: str | None = Field(None, description="The episode's name in the folders of gateway and services.")
    snapshot_id: str | None = None
    reason: str = Field(description="Stable code, such as `damaged`, `unsupported-format` or `task-changed`.")
    detail: str = Field(description="What was found, in words.")
    version: str = Field(description="The version of the gateway that moved the files.")
    at: datetime = Field(description="When the files were moved.")
    databases: dict[str, list[str]] = Field(
        default_factory=dict, description="By service, the entries of the service's own quarantine."
    )
    sources: dict[str, str] = Field(
        default_factory=dict, description="By service, the snapshot database that the files name."
    )
