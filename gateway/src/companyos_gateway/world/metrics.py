"""Sources and metrics with their earlier values."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, is_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import (
    DataIssueRow,
    MetricRow,
    MetricValueRow,
    PipelineState,
    RefreshJobRow,
    SourceRow,
)
from companyos_gateway.world.text_templates import TextTemplate
from companyos_shared.streams import Stream

EARLIER_VALUES = (1, 2)
CUMULATIVE = frozenset({"spend_to_date", "budget_used"})
"""Keys of metrics that count up from the first of January."""

WHOLE_OF_UNIT = {"percent": 100.0, "points": 100.0, "per mille": 1000.0, "tenths of a point": 1000.0}
_PIPELINES: list[tuple[PipelineState, int]] = [("healthy", 8), ("degraded", 2)]
_ISSUES = (
    ("stale", "The value has not moved for a week."),
    ("wrong", "The figure does not match what the vendor reports."),
    ("missing", "No value for the last quarter."),
)


def draw_sources(world: WorldBuilder, stream: Stream) -> None:
    """Draw one source for each role that a source can have."""
    for entry in pool("data")["source"]:
        own = stream.child(entry["role"])
        world.datahub.sources.append(
            SourceRow(
                id=world.ids.take("SRC"),
                name=own.choice(entry["names"]),
                owner_id=own.choice(world.staff.active(entry["team"])).id,
                freshness_sla_minutes=own.choice(entry["sla"]),
                pipeline_state=own.weighted(_PIPELINES),
                authoritative_for=list(entry["keys"]),
                refresh_minutes=own.integer(*entry["refresh"]),
            )
        )


class NoAuthorityError(LookupError):
    """Raised for a metric key without an authoritative source."""


def source_of(world: WorldBuilder, key: str) -> SourceRow:
    """Return the authoritative source of a metric key. Raises NoAuthorityError if there is none."""
    source = next((one for one in world.datahub.sources if key in one.authoritative_for), None)
    if source is None:
        raise NoAuthorityError(key)
    return source


def draw_metrics(world: WorldBuilder, stream: Stream) -> None:
    """Draw the metrics of vendors, services, licenses and teams, with past refreshes and data issues."""
    for entry in pool("data")["metric"]:
        own = stream.child(entry["key"])
        for subject, slots in _subjects(world, own, entry):
            words = TextTemplate(own, world.slot_sources(), **slots)
            low, high = entry["range"]
            draw_metric(
                world,
                own,
                key=entry["key"],
                subject=subject,
                title=words.fill(entry["title"]),
                unit=entry["unit"],
                value=float(own.integer(low, high)),
                source=source_of(world, entry["key"]),
            )
    _draw_past_refreshes(world, stream.child("refreshes"))
    _draw_issues(world, stream.child("issues"))


def draw_metric(
    world: WorldBuilder,
    stream: Stream,
    *,
    key: str,
    subject: str,
    title: str,
    unit: str,
    value: float,
    source: SourceRow,
    as_of: datetime | None = None,
) -> MetricRow:
    """Add a metric with its earlier values, and return it.

    Without `as_of`, its age is between a sixth and twice the freshness SLA of its source.
    """
    age = stream.integer(source.freshness_sla_minutes // 6, source.freshness_sla_minutes * 2)
    metric = MetricRow(
        id=world.ids.take("MET"),
        key=key,
        subject=subject,
        title=title,
        value=value,
        unit=unit,
        as_of=as_of or world.started_at - timedelta(minutes=age),
        source_id=source.id,
    )
    world.datahub.metrics.append(metric)
    earlier, earlier_value = metric.as_of, value
    for _ in range(stream.integer(*EARLIER_VALUES)):
        earlier -= timedelta(minutes=stream.integer(1, 9) * source.freshness_sla_minutes)
        earlier_value = _earlier_value(stream, key, unit, earlier_value)
        world.datahub.metric_values.append(
            MetricValueRow(id="", metric_id=metric.id, value=earlier_value, as_of=earlier)
        )
    return metric


def _earlier_value(stream: Stream, key: str, unit: str, value: float) -> float:
    """Draw the value before another one: not higher if the metric is cumulative, else within the range of its unit."""
    if key in CUMULATIVE:
        return value - stream.integer(0, int(value) // 10)
    return min(max(0.0, value + stream.integer(-7, 7)), WHOLE_OF_UNIT.get(unit, float("inf")))


def number_values(world: WorldBuilder) -> None:
    """Sort earlier values and number them as DataHub would."""
    world.datahub.metric_values.sort(key=lambda row: (row.as_of, row.metric_id))
    for count, row in enumerate(world.datahub.metric_values, start=1):
        row.id = f"MV-{count}"


def _subjects(world: WorldBuilder, stream: Stream, entry: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    kind, count = entry["subject"], entry["count"]
    if kind == "vendor":
        return [(vendor.id, {"vendor": vendor.name}) for vendor in stream.sample(world.datahub.vendors, count)]
    if kind == "team":
        return [(team.id, {"team": team.name}) for team in stream.sample(world.staff.teams, count)]
    return [(name.replace(" ", "-"), {kind: name}) for name in stream.sample(pool("data")["slots"][kind], count)]


def _draw_past_refreshes(world: WorldBuilder, stream: Stream) -> None:
    minutes = {source.id: timedelta(minutes=source.refresh_minutes) for source in world.datahub.sources}
    times = [(one, one.as_of - minutes[one.source_id]) for one in world.datahub.metrics]
    in_hours = [one for one, at in times if is_office_time(at) and at < world.last_evening]
    for count, metric in enumerate(stream.sample(in_hours, min(6, len(in_hours))), start=1):
        requested_at = metric.as_of - minutes[metric.source_id]
        world.datahub.refresh_jobs.append(
            RefreshJobRow(
                id=f"RJ-{count}",
                metric_id=metric.id,
                n=1,
                status="succeeded",
                requested_at=requested_at,
                requested_by=stream.choice(world.present(requested_at.date(), team_id="data")).id,
                finished_at=metric.as_of,
            )
        )


def _draw_issues(world: WorldBuilder, stream: Stream) -> None:
    metrics = stream.sample(world.datahub.metrics, 4)
    for count, metric in enumerate(metrics, start=1):
        kind, text = stream.choice(_ISSUES)
        day = working_days_from(world.today, -stream.integer(3, 30))
        world.datahub.data_issues.append(
            DataIssueRow(
                id=f"DI-{count}",
                subject=metric.id,
                kind=kind,
                description=text,
                reported_by=stream.choice(world.present(day)).id,
                reported_at=draw_office_time(stream, day),
            )
        )
