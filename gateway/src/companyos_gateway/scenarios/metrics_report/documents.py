"""The figures of a report: their subjects, what they are once fresh, and why one cannot be had."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.reported_values import ReportedValue
from companyos_gateway.scenarios.blocks.metrics import (
    PIPELINE_ERRORS,
    LookalikeMetric,
    MetricPlan,
    MetricSources,
    add_task_metric,
    choose_sources,
    draw_other_value,
    draw_stale_value,
)
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.metrics_report.case import RefusalGround, Variant
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import closing_time, draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import MetricValueRow, RefreshPlanRow, VendorRow
from companyos_gateway.world.vendors import draw_namesake, draw_vendor
from companyos_shared.streams import Stream

COUNTS = {Variant.SINGLE: 1, Variant.COMPARISON: 2, Variant.TOTAL: 3, Variant.COUNT: 3, Variant.MOVEMENT: 1}
"""How many figures a report is about."""

SLA_MINUTES = (240, 360, 480)
"""What the authority promises at least, so that all figures of a report can be fresh at once."""

ALSO_STALE = 0.6
SHORT_MAINTENANCE = 0.35
SHORT_MINUTES = (60, 400)
LONG_DAYS = (8, 12)
PLANNED_FAILURES = 9


@dataclass(frozen=True)
class Topic:
    """Topic of a metric; `low` and `high` bound it in its own unit."""

    key: str
    title: str
    unit: str
    is_share: bool
    of_vendors: bool
    low: int
    high: int
    is_cumulative: bool = False


SPEND = Topic("spend_to_date", "Spend with {subject} this year", "EUR", False, True, 2_000, 400_000, is_cumulative=True)
DELIVERY = Topic("delivery_score", "Delivery score of {subject}", "percent", True, True, 30, 95)
ERRORS = Topic("error_rate", "Error rate of {subject}", "percent", True, False, 2, 40)
RIVAL_KEYS = {
    SPEND.key: ("delivery_score", "risk_index"),
    DELIVERY.key: ("risk_index", "spend_to_date"),
    ERRORS.key: ("risk_index", "delivery_score"),
}


@dataclass(frozen=True)
class Subject:
    """Subject of a metric: a vendor, or a service by its name."""

    id: str
    name: str
    vendor: VendorRow | None = None
    lookalike: VendorRow | None = None


@dataclass(frozen=True, kw_only=True)
class PolicyParameters:
    """All figures of a report."""

    variant: Variant
    topic: Topic
    ground: RefusalGround | None
    subjects: tuple[Subject, ...]
    figures: tuple[ReportedValue, ...]
    measuring_ids: tuple[str, ...]
    limit: int
    before: float
    day: str
    """The day that a movement is about."""
    available_at: datetime


def texts() -> dict[str, Any]:
    """Return the texts of the scenario."""
    return load_texts(__file__)


def add_figures(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> PolicyParameters:
    """Add the figures with all that is in their way, and whatever makes one of them unavailable."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant = stream.choice(list(Variant))
    topic = _topic(stream, variant, kinds)
    sources = choose_sources(world, stream, key=topic.key, other_keys=RIVAL_KEYS[topic.key])
    authority = sources.authority
    authority.freshness_sla_minutes = max(authority.freshness_sla_minutes, stream.choice(SLA_MINUTES))
    subjects = _subjects(world, stream, topic, COUNTS[variant], kinds)
    values = stream.distinct(topic.low, topic.high - 1, len(subjects))
    figures = []
    for place, (subject, value) in enumerate(zip(subjects, values, strict=True)):
        own = stream.child("figure", place)
        strikes = _kinds_for(own, place, kinds, ground)
        reading = _add(world, own, topic, sources, subject, value=value, kinds=strikes)
        figures.append(ReportedValue(topic.key, subject.id, reading))
    first = figures[0].spec
    before, day = _add_past(world, stream.child("past"), first, topic) if variant is Variant.MOVEMENT else (0.0, "")
    available_at = _apply_ground(world, stream.child("ground"), sources, first, ground)
    measuring = {
        row.source_id for row in world.datahub.metrics if (row.key, row.subject) == (topic.key, subjects[0].id)
    }
    return PolicyParameters(
        variant=variant,
        topic=topic,
        ground=ground,
        subjects=subjects,
        figures=tuple(figures),
        measuring_ids=tuple(sorted(measuring)),
        limit=stream.choice(sorted(values)[:-1]) + stream.integer(0, 1) if len(values) > 1 else 0,
        before=before,
        day=day,
        available_at=available_at,
    )


def _topic(stream: Stream, variant: Variant, kinds: Collection[Kind]) -> Topic:
    topics = [SPEND] if variant is Variant.TOTAL else [SPEND, DELIVERY, ERRORS]
    return stream.choice([one for one in topics if one.of_vendors or Kind.SIMILAR_NAMES not in kinds])


def _subjects(
    world: WorldBuilder, stream: Stream, topic: Topic, count: int, kinds: Collection[Kind]
) -> tuple[Subject, ...]:
    if not topic.of_vendors:
        measured = {metric.subject for metric in world.datahub.metrics if metric.key == topic.key}
        free = [name for name in pool("data")["slots"]["service"] if name not in measured]
        return tuple(Subject(name, name) for name in stream.sample(free, count))
    subjects = []
    for place in range(count):
        vendor = draw_vendor(world, stream, status="active")
        has_twin = place == 0 and Kind.SIMILAR_NAMES in kinds
        lookalike = draw_namesake(world, stream, vendor) if has_twin else None
        subjects.append(Subject(vendor.id, vendor.legal_name, vendor, lookalike))
    return tuple(subjects)


def _kinds_for(stream: Stream, place: int, kinds: Collection[Kind], ground: RefusalGround | None) -> set[Kind]:
    """Return what strikes one of the figures; pipelines fail for the first alone."""
    own = set(kinds)
    is_spared = not stream.chance(ALSO_STALE)
    if place > 0:
        own -= {Kind.FAILED_PIPELINE} | ({Kind.STALE_METRIC} if is_spared else set())
    elif ground is RefusalGround.NO_AUTHORITY:
        own |= {Kind.CONFLICTING_SOURCES}
    elif ground is not None:
        own |= {Kind.STALE_METRIC}
    return own


def _add(
    world: WorldBuilder,
    stream: Stream,
    topic: Topic,
    sources: MetricSources,
    subject: Subject,
    *,
    value: int,
    kinds: Collection[Kind],
) -> MetricSpec:
    """Add one figure; other sources and the namesake see it higher than any figure of the topic."""
    lookalike = subject.lookalike

    def higher(own: Stream) -> int:
        return topic.high + own.integer(1, min(topic.low, 100 - topic.high) if topic.is_share else topic.low)

    plan = MetricPlan(
        key=topic.key,
        subject=subject.id,
        title=topic.title.format(subject=subject.name),
        unit=topic.unit,
        sources=sources,
        value=value,
        draw_stale_value=lambda own: draw_stale_value(own, topic.key, value, topic.low, topic.high),
        draw_conflicting_value=higher,
        lookalike=None
        if lookalike is None
        else LookalikeMetric(
            subject=lookalike.id,
            title=topic.title.format(subject=lookalike.legal_name),
            draw_value=higher,
        ),
    )
    return add_task_metric(world, stream, plan, kinds)


def _draw_earlier_value(stream: Stream, topic: Topic, value: int) -> int:
    """Draw what a figure was before it had the given value; a cumulative figure never falls."""
    if topic.is_cumulative:
        return stream.integer(value // 2, value - 1)
    return draw_other_value(stream, value, topic.low, topic.high)


def _add_past(world: WorldBuilder, stream: Stream, reading: MetricSpec, topic: Topic) -> tuple[float, str]:
    """Add what the figure was on a day, older than all that is known of it; return it and the day."""
    known = [row for row in world.datahub.metric_values if row.metric_id == reading.metric_id]
    (metric,) = (row for row in world.datahub.metrics if row.id == reading.metric_id)
    oldest = min(row.as_of for row in known) - timedelta(days=stream.integer(3, 9))
    lowest = min(metric.value, *(row.value for row in known)) / reading.per_unit
    was = float(_draw_earlier_value(stream, topic, int(lowest if topic.is_cumulative else reading.value)))
    moment = draw_office_time(stream, oldest.date())
    still_earlier = was + stream.integer(1, 9) * (-1 if topic.is_cumulative else 1)
    for as_of, value in ((moment, was), (moment - timedelta(days=stream.integer(4, 20)), still_earlier)):
        filed = value * reading.per_unit
        world.datahub.metric_values.append(MetricValueRow(id="", metric_id=reading.metric_id, value=filed, as_of=as_of))
    return was, moment.date().isoformat()


def _apply_ground(
    world: WorldBuilder, stream: Stream, sources: MetricSources, reading: MetricSpec, ground: RefusalGround | None
) -> datetime:
    """Let the ground strike; return when the source is out of maintenance, which it may be in for a while anyway."""
    authority = sources.authority
    starts_at = world.started_at - timedelta(minutes=stream.integer(30, 300))
    is_short = stream.chance(SHORT_MAINTENANCE) and reading.is_stale
    minutes = stream.integer(*SHORT_MINUTES)
    ends_on = working_days_from(world.today, stream.integer(*LONG_DAYS))
    if ground is RefusalGround.MAINTENANCE:
        authority.maintenance_from, authority.maintenance_to = starts_at, closing_time(ends_on)
    elif is_short and ground is None:
        authority.maintenance_from = starts_at
        authority.maintenance_to = world.started_at + timedelta(minutes=minutes)
    if ground is RefusalGround.NO_AUTHORITY:
        authority.authoritative_for.remove(_key_of(world, reading))
    if ground is RefusalGround.FAILING:
        authority.pipeline_state = "failed"
        _fail_refreshes(world, stream, reading)
    return authority.maintenance_to or world.started_at


def _key_of(world: WorldBuilder, reading: MetricSpec) -> str:
    return next(metric.key for metric in world.datahub.metrics if metric.id == reading.metric_id)


def _fail_refreshes(world: WorldBuilder, stream: Stream, reading: MetricSpec) -> None:
    """Let every refresh of a metric fail."""
    datahub = world.datahub
    datahub.refresh_plans = [row for row in datahub.refresh_plans if row.metric_id != reading.metric_id]
    for n in range(1, PLANNED_FAILURES + 1):
        datahub.refresh_plans.append(
            RefreshPlanRow(
                id=f"plan-{reading.metric_id}-{n}",
                metric_id=reading.metric_id,
                n=n,
                outcome="failed",
                error=stream.choice(PIPELINE_ERRORS),
            )
        )
