"""Sources of metrics: pipeline states and responses."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from companyos_shared.choices import Choice
from companyos_shared.framework import ResponseModel, example


class PipelineState(Choice):
    """State of a source's pipeline."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    FAILED = "failed"


class SourceRow(ResponseModel):
    """A source in a list."""

    model_config = example(
        id="SRC-RISK",
        name="Risk engine",
        owner_id="E-1007",
        pipeline_state="healthy",
        authoritative_for=["compliance_score"],
    )

    id: str
    name: str
    owner_id: str
    pipeline_state: PipelineState
    authoritative_for: list[str] = Field(description="Metric keys for which this source is authoritative.")


class SourceDetail(SourceRow):
    """A source with its SLA, pipeline and authority."""

    model_config = example(
        id="SRC-RISK",
        name="Risk engine",
        owner_id="E-1007",
        pipeline_state="healthy",
        freshness_sla_minutes=1440,
        refresh_minutes=20,
        authoritative_for=["compliance_score"],
        maintenance_from=None,
        maintenance_to=None,
    )

    freshness_sla_minutes: int = Field(description="A value older than this is stale.")
    refresh_minutes: int = Field(description="Minutes that a refresh takes.")
    maintenance_from: datetime | None
    maintenance_to: datetime | None
