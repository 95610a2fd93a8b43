"""Routes of refreshes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from companyos_datahub.metrics.service import MetricNotFoundError
from companyos_datahub.refreshes import service
from companyos_datahub.refreshes.rules import MaintenanceWindowError, RefreshJobNotFoundError, RefreshRunningError
from companyos_datahub.refreshes.schemas import RefreshJobDetail
from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    error_responses,
)

router = OperationRouter(tags=["refreshes"])


@router.post(
    "/metrics/{metric_id}/refreshes",
    operation_id="refresh_metric",
    status_code=201,
    responses=error_responses(
        MetricNotFoundError, RefreshRunningError, MaintenanceWindowError, IdempotencyKeyReusedError
    ),
)
async def refresh_metric(
    metric_id: Annotated[str, Path(description="ID of the metric.")], call: CallDep, _key: IdempotencyKey
) -> RefreshJobDetail:
    """Start a refresh of a metric; it takes the `refresh_minutes` of its source and can be repeated if it fails.

    A job cannot be stopped. It is queued, runs and ends succeeded or failed. A success replaces the value, and a
    failed pipeline is healthy again. The new value may be better or worse than the old one.
    """
    return service.refresh_metric(call, metric_id)


@router.get(
    "/refresh-jobs",
    operation_id="list_refresh_jobs",
    responses=error_responses(MetricNotFoundError, InvalidCursorError),
)
async def list_refresh_jobs(
    page: PageQuery,
    call: CallDep,
    metric_id: Annotated[str | None, Query(description="Only jobs of this metric.")] = None,
) -> Page[RefreshJobDetail]:
    """List refresh jobs, newest first."""
    return service.list_refresh_jobs(call, page, metric_id=metric_id)


@router.get(
    "/refresh-jobs/{job_id}", operation_id="get_refresh_job", responses=error_responses(RefreshJobNotFoundError)
)
async def get_refresh_job(
    job_id: Annotated[str, Path(description="ID of the refresh job.")], call: CallDep
) -> RefreshJobDetail:
    """Show the status of a refresh job."""
    return service.get_refresh_job(call, job_id)
