"""The metrics of a report: their subjects and values, an earlier value, and why one of them is not available."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from companyos_gateway.scenarios import kit

SLA_MINUTES = (240, 360, 480)
"""Lower bounds of the authority's freshness SLA, so that all metrics of a report can be fresh at once."""

ALSO_STALE = 0.6
SHORT_MAINTENANCE = 0.35
SHORT_MINUTES = (60, 400)
LONG_DAYS = (8, 12)
PLANNED_FAILURES = 9


class RefusalGround(StrEnum):
    """Why a report cannot be made."""

    MAINTENANCE = "maintenance"
    FAILING = "failing"
    NO_AUTHORITY = "no_authority"


@dataclass(frozen=True)
class Topic:
    """A kind of metric; `low` and `high` bound it in its own unit."""

    key: str
    title: str
    unit: str
    other_keys: tuple[str, str]
    low: int
    high: int
    is_cumulative: bool = False


SPEND = Topic(
    "spend_to_date", "Spend with {subject} this year", "EUR", ("delivery_score", "risk_index"), 2_000, 400_000, True
)
DELIVERY = Topic("delivery_score", "Delivery score of {subject}", "percent", ("risk_index", "spend_to_date"), 30, 95)
ERRORS = Topic("error_rate", "Error rate of {subject}", "percent", ("risk_index", "delivery_score"), 2, 40)
"""The topic about services; the others are about vendors."""


@dataclass(frozen=True)
class Subject:
    """The subject of a metric: a vendor by its legal name, or a service, whose id is its name."""

    id: str
    name: str


def draw_subjects(build: kit.BuildContext, topic: Topic, count: int) -> tuple[list[Subject], Subject | None]:
    """Draw the subjects, and a vendor whose name is similar to that of the first one where that strikes."""
    world, stream = build.world, build.stream
    if topic is ERRORS:
        measured = {metric.subject for metric in world.datahub.metrics if metric.key == topic.key}
        free = [name for name in kit.pool("data")["slots"]["service"] if name not in measured]
        return [Subject(name, name) for name in stream.sample(free, count)], None
    vendors = [kit.draw_vendor(world, stream, status="active") for _ in range(count)]
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        vendors.append(kit.draw_namesake(world, stream, vendors[0]))
    found = [Subject(vendor.id, vendor.legal_name) for vendor in vendors]
    return found[:count], next(iter(found[count:]), None)


def add_metrics(
    build: kit.BuildContext,
    topic: Topic,
    subjects: Sequence[Subject],
    lookalike: Subject | None,
    ground: RefusalGround | None,
) -> tuple[kit.MetricSpec, ...]:
    """Add a metric of each subject with what strikes it; the first one is not available where there is a ground."""
    world, stream = build.world, build.stream
    sources = kit.choose_sources(world, stream, key=topic.key, other_keys=topic.other_keys)
    authority = sources.authority
    authority.freshness_sla_minutes = max(authority.freshness_sla_minutes, stream.choice(SLA_MINUTES))
    values = stream.distinct(topic.low, topic.high - 1, len(subjects))
    metrics = []
    for place, (subject, value) in enumerate(zip(subjects, values, strict=True)):
        own = stream.child("metric", place)
        plan = _metric_plan(topic, sources, subject, value, lookalike if place == 0 else None)
        metrics.append(kit.add_task_metric(world, own, plan, _kinds_of(own, place, build.kinds, ground)))
    _strike_source(build.child("source"), authority, metrics[0], ground)
    return tuple(metrics)


def _kinds_of(
    stream: kit.Stream, place: int, kinds: frozenset[kit.Kind], ground: RefusalGround | None
) -> frozenset[kit.Kind]:
    """Return the kinds that strike one of the metrics; pipelines fail for the first alone."""
    is_also_stale = stream.chance(ALSO_STALE)
    if place > 0:
        return kinds - {kit.Kind.FAILED_PIPELINE} - (set() if is_also_stale else {kit.Kind.STALE_METRIC})
    if ground is RefusalGround.NO_AUTHORITY:
        return kinds | {kit.Kind.CONFLICTING_SOURCES}
    return kinds if ground is None else kinds | {kit.Kind.STALE_METRIC}


def _metric_plan(
    topic: Topic, sources: kit.MetricSources, subject: Subject, value: int, lookalike: Subject | None
) -> kit.MetricPlan:
    """Return the plan of a metric; other sources and the lookalike have higher values than any of the topic."""

    def higher(own: kit.Stream) -> int:
        return topic.high + own.integer(1, topic.low if topic is SPEND else min(topic.low, 100 - topic.high))

    return kit.MetricPlan(
        key=topic.key,
        subject=subject.id,
        title=topic.title.format(subject=subject.name),
        unit=topic.unit,
        sources=sources,
        value=value,
        draw_stale_value=lambda own: kit.draw_stale_value(own, topic.key, value, topic.low, topic.high),
        draw_conflicting_value=higher,
        lookalike=None
        if lookalike is None
        else kit.LookalikeMetric(
            subject=lookalike.id, title=topic.title.format(subject=lookalike.name), draw_value=higher
        ),
    )


def _strike_source(
    build: kit.BuildContext, authority: kit.SourceRow, metric: kit.MetricSpec, ground: RefusalGround | None
) -> None:
    """Make the metric unavailable; without a ground, its source may be in maintenance for some hours."""
    stream, now = build.stream, build.world.started_at
    is_short = ground is None and metric.is_stale and stream.chance(SHORT_MAINTENANCE)
    if is_short or ground is RefusalGround.MAINTENANCE:
        authority.maintenance_from = now - timedelta(minutes=stream.integer(30, 300))
        ends_at = now + timedelta(minutes=stream.integer(*SHORT_MINUTES))
        authority.maintenance_to = ends_at if is_short else kit.closing_time(build.working_day(*LONG_DAYS))
    elif ground is RefusalGround.NO_AUTHORITY:
        authority.authoritative_for.remove(metric.key)
    elif ground is RefusalGround.FAILING:
        authority.pipeline_state = "failed"
        datahub, metric_id = build.world.datahub, metric.metric_id
        datahub.refresh_plans = [row for row in datahub.refresh_plans if row.metric_id != metric_id]
        for n in range(1, PLANNED_FAILURES + 1):
            error, plan_id = stream.choice(kit.PIPELINE_ERRORS), f"plan-{metric_id}-{n}"
            row = kit.RefreshPlanRow(id=plan_id, metric_id=metric_id, n=n, outcome="failed", error=error)
            datahub.refresh_plans.append(row)


def add_past(build: kit.BuildContext, metric: kit.MetricSpec, topic: Topic) -> tuple[float, str]:
    """Add the value of a metric on a day before all that is known of it; return it in the topic's unit, and the day.

    A cumulative metric never falls.
    """
    datahub, stream = build.world.datahub, build.stream
    now = next(row.value for row in datahub.metrics if row.id == metric.metric_id)
    known = [row for row in datahub.metric_values if row.metric_id == metric.metric_id]
    if topic.is_cumulative:
        lowest = int(min(now, *(row.value for row in known)) / metric.per_unit)
        value, step = stream.integer(lowest // 2, lowest - 1), -1
    else:
        value, step = kit.draw_other_value(stream, int(metric.value), topic.low, topic.high), 1
    day = min(row.as_of for row in known).date() - timedelta(days=stream.integer(3, 9))
    at = kit.draw_office_time(stream, day)
    earlier = at - timedelta(days=stream.integer(4, 20)), value + step * stream.integer(1, 9)
    for as_of, one in ((at, value), earlier):
        row = kit.MetricValueRow(id="", metric_id=metric.metric_id, value=float(one * metric.per_unit), as_of=as_of)
        datahub.metric_values.append(row)
    return float(value), day.isoformat()
