"""A source of metrics as the rules see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from companyos_shared.choices import Choice


class PipelineState(Choice):
    """How the pipeline behind a source is doing."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A system that delivers metrics; `authoritative_for` holds the keys of metrics it is the authority on."""

    id: str
    name: str
    owner_id: str
    freshness_sla_minutes: int
    pipeline_state: PipelineState
    authoritative_for: tuple[str, ...]
    refresh_minutes: int
    maintenance_from: datetime | None = None
    maintenance_to: datetime | None = None

    @classmethod
    def from_row(cls, row: Row[Any]) -> Source:
        """Read a row of the table `sources`."""
        values = dict(row._mapping)
        values["pipeline_state"] = PipelineState(row.pipeline_state)
        values["authoritative_for"] = tuple(row.authoritative_for)
        return cls(**values)
