"""Routes of metrics."""

from __future__ import annotations

from fastapi import APIRouter

from companyos_datahub.metrics import service
from companyos_datahub.metrics.schemas import EarlierValue, MetricRow, Readings
from companyos_datahub.metrics.service import MetricNotFoundError
from companyos_shared.framework import CallDep, Page, PageQuery, error_responses

router = APIRouter(tags=["metrics"])


@router.get("/metrics", operation_id="list_metrics")
async def list_metrics(
    page: PageQuery, call: CallDep, key: str | None = None, subject: str | None = None, source_id: str | None = None
) -> Page[MetricRow]:
    """List metrics without their values."""
    return service.list_metrics(call, page, key=key, subject=subject, source_id=source_id)


@router.get("/readings", operation_id="query_metric", responses=error_responses(MetricNotFoundError))
async def query_metric(key: str, subject: str, call: CallDep, source_id: str | None = None) -> Readings:
    """Read a metric of a subject: value, unit, age, one reading per source.

    Reading never refreshes. Sources may disagree; `get_source` shows what a source is authoritative for.
    """
    return service.query_metric(call, key=key, subject=subject, source_id=source_id)


@router.get(
    "/metrics/{metric_id}/history", operation_id="get_metric_history", responses=error_responses(MetricNotFoundError)
)
async def get_metric_history(metric_id: str, page: PageQuery, call: CallDep) -> Page[EarlierValue]:
    """List the earlier values of a metric, newest first."""
    return service.get_metric_history(call, metric_id, page)
