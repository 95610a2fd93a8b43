"""Metrics that a task depends on: stale or fresh, with planned refreshes and values of other sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.metrics import CUMULATIVE, draw_metric, source_of
from companyos_gateway.world.seed_documents.datahub import (
    MetricRow,
    RecordRow,
    RefreshOutcome,
    RefreshPlanRow,
    SourceRow,
    VendorRow,
)
from companyos_shared.streams import Stream

PIPELINE_ERRORS = (
    "The upstream feed closed the connection.",
    "The upstream system rejected the connection because it was busy.",
    "The load timed out.",
)
MIN_AGE_GAP = timedelta(minutes=1)
"""Minimum time by which the value of another source is newer than that of the authority."""

DEFAULT_AUTHORITY_SHARE = 0.6
"""Probability that the usual source of a key is its authority."""


ERROR_RATE, ERROR_UNIT = "error_rate", "errors per 1,000 requests"
ERROR_RATE_SLA_MINUTES = (360, 480, 720)

FINER_UNITS = {
    "days": ("hours", 24),
    "percent": ("per mille", 10),
    ERROR_UNIT: ("errors per 10,000 requests", 10),
    "points": ("tenths of a point", 10),
    "EUR": ("cents", 100),
}
"""Finer units in which a source may deliver instead, and how many of them make up one unit."""

TENTHS = 10

EntityT = TypeVar("EntityT", VendorRow, RecordRow)


@dataclass(frozen=True)
class MetricSources:
    """The authority on a key, and other sources of its values."""

    authority: SourceRow
    other_sources: tuple[SourceRow, ...]


@dataclass(frozen=True, kw_only=True)
class LookalikeMetric:
    """A metric of something with a similar name, which has its own fresh value."""

    subject: str
    title: str
    draw_value: Callable[[Stream], int]


def lookalike_metric(
    entity: EntityT | None, title: Callable[[EntityT], str], draw_value: Callable[[Stream], int]
) -> LookalikeMetric | None:
    """Return the metric of a vendor or record with a similar name; None without one."""
    return None if entity is None else LookalikeMetric(subject=entity.id, title=title(entity), draw_value=draw_value)


@dataclass(frozen=True, kw_only=True)
class MetricPlan:
    """A metric of a task: `value` is its fresh value; stale and conflicting values are drawn if needed."""

    key: str
    subject: str
    title: str
    unit: str
    sources: MetricSources
    value: int
    draw_stale_value: Callable[[Stream], int]
    draw_conflicting_value: Callable[[Stream], int]
    lookalike: LookalikeMetric | None = None


@dataclass(frozen=True)
class MetricTopic:
    """A kind of metric, whose values in tasks are from `low` to `high` steps, in its unit.

    `title` has a slot for the name of the subject. `other_keys` are for `choose_sources`.
    """

    key: str
    title: str
    unit: str
    other_keys: tuple[str, str]
    low: int
    high: int
    step: int = 1

    def plan(
        self,
        sources: MetricSources,
        subject: str,
        name: str,
        value: int,
        *,
        draw_other_value: Callable[[Stream], int],
        lookalike: VendorRow | None,
    ) -> MetricPlan:
        """Return the plan of the metric of a named subject; other sources and the lookalike have another value."""
        low, high = self.low * self.step, self.high * self.step
        return MetricPlan(
            key=self.key,
            subject=subject,
            title=self.title.format(name),
            unit=self.unit,
            sources=sources,
            value=value,
            draw_stale_value=lambda stream: draw_stale_value(stream, self.key, value, low, high),
            draw_conflicting_value=draw_other_value,
            lookalike=lookalike_metric(
                lookalike, lambda vendor: self.title.format(vendor.legal_name), draw_other_value
            ),
        )


def choose_sources(world: WorldBuilder, stream: Stream, *, key: str, other_keys: tuple[str, str]) -> MetricSources:
    """Draw the authority on a key, and assign all metrics with that key to it.

    `other_keys` select the other sources by the keys on which they are authorities; the first may become the authority.
    """
    usual, other, third = (source_of(world, one) for one in (key, *other_keys))
    if stream.chance(DEFAULT_AUTHORITY_SHARE) or world.is_kept(usual) or world.is_kept(other):
        return MetricSources(usual, (other, third))
    usual.authoritative_for.remove(key)
    other.authoritative_for.append(key)
    for metric in world.datahub.metrics:
        if metric.key == key:
            metric.source_id = other.id
    return MetricSources(other, (usual, third))


def error_rate_sources(build: BuildContext) -> MetricSources:
    """Draw the authority on error rates, and its freshness SLA: hours, so that a person can decide meanwhile."""
    other_keys = ("risk_index", "license_days_left")
    sources = choose_sources(build.world, build.stream, key=ERROR_RATE, other_keys=other_keys)
    if not build.world.is_kept(sources.authority):
        sources.authority.freshness_sla_minutes = build.stream.choice(ERROR_RATE_SLA_MINUTES)
    return sources


def error_rate_plan(sources: MetricSources, service: str, rate: int, *, threshold: int, highest: int) -> MetricPlan:
    """Return the plan of a service's error rate; other sources report a value on the other side of the threshold."""
    is_below = rate < threshold
    other_side = (threshold, highest) if is_below else (0, threshold - 1)
    stale = other_side if is_below else (0, highest)
    return MetricPlan(
        key=ERROR_RATE,
        subject=service,
        title=f"Error rate of {service}",
        unit=ERROR_UNIT,
        sources=sources,
        value=rate,
        draw_stale_value=lambda own: draw_other_value(own, rate, *stale),
        draw_conflicting_value=lambda own: own.integer(*other_side),
    )


def affected_metric(spec: MetricSpec, key: str) -> dict[Kind, str]:
    """Return the entity that each metric kind affects: the metric, its source or its key."""
    return {Kind.STALE_METRIC: spec.metric_id, Kind.FAILED_PIPELINE: spec.source_id, Kind.CONFLICTING_SOURCES: key}


def add_task_metric(world: WorldBuilder, stream: Stream, plan: MetricPlan, kinds: Collection[Kind]) -> MetricSpec:
    """Add the metric, stale or fresh, with its planned refreshes and the values of others; return its specification."""
    plan, per_unit = _in_source_units(plan, kinds)
    authority = plan.sources.authority
    is_stale = Kind.STALE_METRIC in kinds
    first = plan.draw_stale_value(stream) if is_stale else plan.value
    as_of = _draw_timestamp(world, stream, authority, is_stale=is_stale)
    metric = _add(world, stream, plan, (plan.subject, plan.title), authority, value=first, as_of=as_of)
    failing = stream.integer(1, 2) if Kind.FAILED_PIPELINE in kinds else 0
    if failing:
        fail_refreshes(world, stream, authority, metric.id, failing)
    _plan_refresh(world, metric.id, failing + 1, value=float(plan.value))
    others = []
    if Kind.CONFLICTING_SOURCES in kinds:
        rival = stream.choice(plan.sources.other_sources)
        recent = max(world.started_at - timedelta(minutes=stream.integer(5, 60)), as_of + MIN_AGE_GAP)
        value = plan.draw_conflicting_value(stream)
        others.append(_add(world, stream, plan, (plan.subject, plan.title), rival, value=value, as_of=recent))
    if plan.lookalike is not None:
        recent, lookalike = _draw_timestamp(world, stream, authority, is_stale=False), plan.lookalike
        value = lookalike.draw_value(stream)
        _add(world, stream, plan, (lookalike.subject, lookalike.title), authority, value=value, as_of=recent)
    return MetricSpec(
        metric_id=metric.id,
        key=plan.key,
        subject=plan.subject,
        source_id=authority.id,
        other_metric_ids=tuple(other.id for other in others),
        max_age=timedelta(minutes=authority.freshness_sla_minutes),
        is_stale=is_stale,
        value=float(plan.value / per_unit),
        failing_refreshes=failing,
        per_unit=per_unit,
    )


def fail_refreshes(world: WorldBuilder, stream: Stream, source: SourceRow, metric_id: str, count: int) -> None:
    """Mark the source's pipeline as failed and plan `count` failing refreshes of a metric, without any later ones."""
    source.pipeline_state = "failed"
    datahub = world.datahub
    datahub.refresh_plans = [row for row in datahub.refresh_plans if row.metric_id != metric_id]
    for n in range(1, count + 1):
        _plan_refresh(world, metric_id, n, error=stream.choice(PIPELINE_ERRORS))


def draw_stale_value(stream: Stream, key: str, value: int, low: int, high: int) -> int:
    """Draw a stale value other than `value`: in [low, high], or below `value` if the metric is cumulative."""
    if key in CUMULATIVE:
        return stream.integer(min(low, value // 2), min(high, value - 1))
    return draw_other_value(stream, value, low, high)


def draw_other_value(stream: Stream, value: int, low: int, high: int) -> int:
    """Draw a value in [low, high] that is not the given one."""
    other = stream.integer(low, high - 1)
    return other if other < value else other + 1


def _in_source_units(plan: MetricPlan, kinds: Collection[Kind]) -> tuple[MetricPlan, int]:
    """Return the plan in the unit of its sources, and how many of these units make up one of the plan's."""
    if Kind.UNIT_MISMATCH not in kinds:
        return plan, 1
    unit, factor = FINER_UNITS.get(plan.unit, (f"tenths of {plan.unit}", TENTHS))
    lookalike = plan.lookalike and replace(plan.lookalike, draw_value=_scaled(plan.lookalike.draw_value, factor))
    finer = replace(
        plan,
        unit=unit,
        value=plan.value * factor,
        draw_stale_value=_scaled(plan.draw_stale_value, factor),
        draw_conflicting_value=_scaled(plan.draw_conflicting_value, factor),
        lookalike=lookalike,
    )
    return finer, factor


def _scaled(draw: Callable[[Stream], int], factor: int) -> Callable[[Stream], int]:
    return lambda stream: draw(stream) * factor


def _draw_timestamp(world: WorldBuilder, stream: Stream, source: SourceRow, *, is_stale: bool) -> datetime:
    sla_minutes = source.freshness_sla_minutes
    minutes = (
        stream.integer(sla_minutes + sla_minutes // 2, sla_minutes * 8)
        if is_stale
        else stream.integer(5, sla_minutes // 6)
    )
    return world.started_at - timedelta(minutes=minutes)


def _add(
    world: WorldBuilder,
    stream: Stream,
    plan: MetricPlan,
    of: Sequence[str],
    source: SourceRow,
    *,
    value: int,
    as_of: datetime,
) -> MetricRow:
    subject, title = of
    return draw_metric(
        world,
        stream,
        key=plan.key,
        subject=subject,
        title=title,
        unit=plan.unit,
        value=float(value),
        source=source,
        as_of=as_of,
    )


def _plan_refresh(
    world: WorldBuilder, metric_id: str, n: int, *, value: float | None = None, error: str | None = None
) -> None:
    """Plan that the n-th refresh returns the value or fails with the error."""
    outcome: RefreshOutcome = "succeeded" if error is None else "failed"
    plan_id = f"plan-{metric_id}-{n}"
    row = RefreshPlanRow(id=plan_id, metric_id=metric_id, n=n, outcome=outcome, value=value, error=error)
    world.datahub.refresh_plans.append(row)
