"""Service functions that read and update metrics."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, insert, select, update

from companyos_datahub.metrics.schemas import EarlierValue, MetricRow, Reading, Readings
from companyos_datahub.tables import metric_values, metrics, sources
from companyos_shared.framework import Call, Page, PageParams, ServiceError, paginate


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The value of one source for one key of one subject; `as_of` is the time of the measurement."""

    id: str
    key: str
    subject: str
    title: str
    value: float
    unit: str
    as_of: datetime
    source_id: str


class MetricNotFoundError(ServiceError):
    status, code, title = 404, "metric-not-found", "Metric not found"


def is_stale(as_of: datetime, freshness_sla_minutes: int, now: datetime) -> bool:
    """Return whether a value is older than its source's SLA; a value of exactly that age is fresh."""
    return now - as_of > timedelta(minutes=freshness_sla_minutes)


def list_metrics(
    call: Call, page: PageParams, *, key: str | None, subject: str | None, source_id: str | None
) -> Page[MetricRow]:
    """Return the metrics that match all filters, by id."""
    statement = select(metrics)
    for column, value in ((metrics.c.key, key), (metrics.c.subject, subject), (metrics.c.source_id, source_id)):
        if value is not None:
            statement = statement.where(column == value)
    return paginate(call, statement, page, order_by=[metrics.c.id], build=MetricRow.model_validate)


def query_metric(call: Call, *, key: str, subject: str, source_id: str | None) -> Readings:
    """Return the values of the sources for the key of the subject, by source; raises MetricNotFoundError (404)."""
    statement = (
        select(metrics, sources.c.freshness_sla_minutes)
        .join(sources, sources.c.id == metrics.c.source_id)
        .where(metrics.c.subject == subject, metrics.c.key == key)
        .order_by(metrics.c.source_id)
    )
    if source_id is not None:
        statement = statement.where(metrics.c.source_id == source_id)
    readings = [_reading(row, call.now) for row in call.db.execute(statement)]
    if not readings:
        raise MetricNotFoundError(f'no source measures "{key}" of the subject "{subject}"')
    return Readings(key=key, subject=subject, readings=readings)


def list_readings(call: Call, metric_ids: Collection[str]) -> list[Reading]:
    """Return the current values of these metrics."""
    statement = (
        select(metrics, sources.c.freshness_sla_minutes)
        .join(sources, sources.c.id == metrics.c.source_id)
        .where(metrics.c.id.in_(metric_ids))
    )
    return [_reading(row, call.now) for row in call.db.execute(statement)]


def get_metric_history(call: Call, metric_id: str, page: PageParams) -> Page[EarlierValue]:
    """Return the earlier values of a metric, newest first."""
    load_metric(call, metric_id)
    return paginate(
        call,
        select(metric_values).where(metric_values.c.metric_id == metric_id),
        page,
        order_by=[metric_values.c.as_of, metric_values.c.id],
        build=EarlierValue.model_validate,
        descending=True,
    )


def load_metric(call: Call, metric_id: str) -> Metric:
    """Return a metric; raises MetricNotFoundError (404)."""
    row = call.db.execute(select(metrics).where(metrics.c.id == metric_id)).one_or_none()
    if row is None:
        raise MetricNotFoundError(f'no metric has the id "{metric_id}"')
    return Metric(**row._mapping)


def replace_value(call: Call, metric: Metric, value: float, *, as_of: datetime) -> None:
    """Replace the value of a metric, and move the previous value to its history."""
    earlier = {"metric_id": metric.id, "value": metric.value, "as_of": metric.as_of}
    call.db.execute(insert(metric_values), {"id": f"MV-{call.next_number('metric_values')}", **earlier})
    call.db.execute(update(metrics).where(metrics.c.id == metric.id).values(value=value, as_of=as_of))


def apply_reading(call: Call, payload: dict[str, Any]) -> None:
    """Apply a scheduled value of a source: {metric_id, value}."""
    replace_value(call, load_metric(call, payload["metric_id"]), float(payload["value"]), as_of=call.now)


def _reading(row: Row[Any], now: datetime) -> Reading:
    return Reading(
        metric_id=row.id,
        value=row.value,
        unit=row.unit,
        as_of=row.as_of,
        source_id=row.source_id,
        is_stale=is_stale(row.as_of, row.freshness_sla_minutes, now),
    )
