"""The manifest of an episode: its task, options and sources. An epoch is committed by renaming its manifest.

The file is one JSON object: the format, the SHA-256 of the manifest, and the manifest itself as the last member.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from companyos.contract import ResetOptions
from companyos_gateway.engine.checksums import add_checksum, verify_checksum
from companyos_gateway.engine.errors import QuarantineReason, UnusableFilesError
from companyos_gateway.engine.task_cache import TaskKey
from companyos_gateway.tasks import TaskRef
from companyos_shared.wire.context import EPISODE_PATTERN, SOURCE_PATTERN

FORMAT = 2

_NAME = "manifest"

_Source = Annotated[str, Field(pattern=SOURCE_PATTERN)]


class ManifestState(StrEnum):
    """State of a manifest: live, or ended with its databases kept.

    Any other ended episode has no manifest under its name, because its folder is renamed first.
    """

    LIVE = "live"
    KEPT = "kept"


class Manifest(BaseModel):
    """One epoch of one episode. `planned` are the sources of its task, `sources` those from which the epoch starts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = Field(description="The version of the gateway that wrote it.")
    id: str = Field(description="The client's label.")
    internal_id: str = Field(pattern=EPISODE_PATTERN)
    epoch: int = Field(ge=1)
    previous: str | None = Field(None, description="The checksum of the previous epoch's manifest.")
    first_step: int = Field(0, ge=0, description="The step that the epoch starts after: that of its snapshot, or 0.")
    lineage: str = Field(description="The reset that the episode comes from; forks and restores keep it.")
    task: TaskKey
    options: ResetOptions
    planned: dict[str, _Source]
    sources: dict[str, _Source]
    published: TaskRef | None = Field(None, description="The task of the task set that was asked for, if one was.")
    batch: str | None = Field(None, description="Fork that created the episode together with others, all or none.")
    state: ManifestState = ManifestState.LIVE

    @model_validator(mode="after")
    def _check_same_services(self) -> Self:
        if self.planned.keys() != self.sources.keys():
            raise ValueError("planned and initial sources must be of the same services")
        return self

    def snapshot_sources(self) -> list[tuple[str, str]]:
        """Return service and source of each source that is a snapshot database and not a template of the task."""
        return [place for place in self.sources.items() if place[1] != self.planned.get(place[0])]


def encode_manifest(manifest: Manifest) -> tuple[bytes, str]:
    """Return the content of a manifest's file and its checksum."""
    return add_checksum(
        _NAME, FORMAT, manifest.model_dump_json(exclude={"options": {"resume", "injected_state"}}).encode()
    )


def decode_manifest(content: bytes) -> tuple[Manifest, str]:
    """Return the manifest of a file's content and its checksum; raises UnusableFilesError."""
    payload, checksum = verify_checksum(_NAME, FORMAT, content)
    try:
        return Manifest.model_validate_json(payload), checksum
    except ValidationError as error:
        raise UnusableFilesError(
            QuarantineReason.FORMAT, f"the manifest does not fit: {error.errors()[0]['msg']}"
        ) from error
