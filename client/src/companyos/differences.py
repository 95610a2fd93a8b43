"""What differs between two steps of an episode, row by row."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class RowDiff(BaseModel):
    """One row at both ends: null where there was none."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None


class EpisodeDiff(BaseModel):
    """What differs between two steps of an episode: service, table and key to the row at both ends."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    from_: int = Field(alias="from")
    to: int
    services: dict[str, dict[str, dict[str, RowDiff]]]
