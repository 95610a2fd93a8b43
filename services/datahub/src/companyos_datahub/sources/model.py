"""Sources of metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from companyos_shared.choices import Choice


class PipelineState(Choice):
    """State of a source's pipeline."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A system that delivers metrics. `authoritative_for` lists metric keys."""

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
        """Return the source of a row."""
        values = dict(row._mapping)
        values["pipeline_state"] = PipelineState(row.pipeline_state)
        values["authoritative_for"] = tuple(row.authoritative_for)
        return cls(**values)
