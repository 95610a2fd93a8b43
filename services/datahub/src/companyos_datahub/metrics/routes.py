"""Routes of metrics."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from companyos_datahub.metrics import service
from companyos_datahub.metrics.schemas import EarlierValue, MetricRow, Readings
from companyos_datahub.metrics.service import MetricNotFoundError
from companyos_shared.framework import CallDep, InvalidCursorError, OperationRouter, Page, PageQuery, error_responses

router = OperationRouter(tags=["metrics"])

MetricId = Annotated[str, Path(description="ID of the metric.")]


@router.get("/metrics", operation_id="list_metrics", responses=error_responses(InvalidCursorError))
async def list_metrics(
    page: PageQuery,
    call: CallDep,
    key: Annotated[str | None, Query(description="Measured quantity, such as compliance_score.")] = None,
    subject: Annotated[str | None, Query(description="ID of the measured object.")] = None,
    source_id: Annotated[str | None, Query(description="ID of the source.")] = None,
) -> Page[MetricRow]:
    """List metrics that match all filters, without their values."""
    return service.list_metrics(call, page, key=key, subject=subject, source_id=source_id)


@router.get("/readings", operation_id="query_metric", responses=error_responses(MetricNotFoundError))
async def query_metric(
    key: Annotated[str, Query(description="Measured quantity, such as compliance_score.")],
    subject: Annotated[str, Query(description="ID of the measured object.")],
    call: CallDep,
    source_id: Annotated[str | None, Query(description="Only the reading of this source.")] = None,
) -> Readings:
    """Read a metric of a subject: value, unit and age, one reading per source.

    Reading never starts a refresh. Sources may disagree; `list_sources` shows what each source is authoritative for.
    """
    return service.query_metric(call, key=key, subject=subject, source_id=source_id)


@router.get(
    "/metrics/{metric_id}/history",
    operation_id="get_metric_history",
    responses=error_responses(MetricNotFoundError, InvalidCursorError),
)
async def get_metric_history(metric_id: MetricId, page: PageQuery, call: CallDep) -> Page[EarlierValue]:
    """List the earlier values of a metric, newest first."""
    return service.get_metric_history(call, metric_id, page)
