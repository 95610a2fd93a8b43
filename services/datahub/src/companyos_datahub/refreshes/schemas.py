"""Response schemas of refresh jobs."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from companyos_datahub.refreshes.model import RefreshStatus
from companyos_shared.framework import ResponseModel, example


class RefreshJobDetail(ResponseModel):
    """A refresh job."""

    model_config = example(
        id="RJ-12",
        metric_id="MET-1042",
        status="succeeded",
        requested_at="2026-03-02T09:15:00Z",
        requested_by="E-1001",
        finished_at="2026-03-02T09:35:00Z",
        error=None,
    )

    id: str
    metric_id: str
    status: RefreshStatus
    requested_at: datetime
    requested_by: str
    finished_at: datetime | None
    error: str | None = Field(description="Error of a failed job.")
