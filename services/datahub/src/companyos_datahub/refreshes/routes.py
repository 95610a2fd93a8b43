"""Routes of refreshes."""

from __future__ import annotations

from fastapi import APIRouter

from companyos_datahub.metrics.service import MetricNotFoundError
from companyos_datahub.refreshes import service
from companyos_datahub.refreshes.rules import MaintenanceWindowError, RefreshJobNotFoundError, RefreshRunningError
from companyos_datahub.refreshes.schemas import RefreshJobDetail
from companyos_shared.framework import CallDep, IdempotencyKey, IdempotencyKeyReusedError, error_responses

router = APIRouter(tags=["refreshes"])


@router.post(
    "/metrics/{metric_id}/refreshes",
    operation_id="refresh_metric",
    status_code=201,
    responses=error_responses(
        MetricNotFoundError, RefreshRunningError, MaintenanceWindowError, IdempotencyKeyReusedError
    ),
)
async def refresh_metric(metric_id: str, call: CallDep, _key: IdempotencyKey) -> RefreshJobDetail:
    """Start a job that refreshes a metric; it takes time.

    The job is queued, runs and ends succeeded or failed; the new value may be better or worse than the old one.
    """
    return service.refresh_metric(call, metric_id)


@router.get(
    "/refresh-jobs/{job_id}", operation_id="get_refresh_job", responses=error_responses(RefreshJobNotFoundError)
)
async def get_refresh_job(job_id: str, call: CallDep) -> RefreshJobDetail:
    """Show the status of a refresh job."""
    return service.get_refresh_job(call, job_id)
