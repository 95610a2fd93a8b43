"""Discrepancies: a vendor, the figure that sources see differently, and the contracts that hold it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.scenarios.blocks.metrics import (
    LookalikeMetric,
    MetricPlan,
    add_task_metric,
    choose_sources,
    draw_other_value,
    draw_stale_value,
)
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.metrics import draw_metric
from companyos_gateway.world.records import draw_contract
from companyos_gateway.world.seed_documents.datahub import RecordRow, SourceRow, VendorRow
from companyos_gateway.world.vendors import draw_certificates, draw_namesake, draw_vendor
from companyos_shared.streams import Stream

ADJUSTMENT = "adjustment_percent"
LEAST_STEPS = 12
"""By how many steps the wrong value is off at least: room for three limits of the policy below."""

ENDED_STATES = ("expired", "terminated")


class Variant(StrEnum):
    """Variant of the case: corrections of a value or also derived values, in one or several records."""

    SINGLE = "single"
    DERIVED = "derived"
    SEVERAL = "several"
    SEVERAL_DERIVED = "several_derived"

    @property
    def is_derived(self) -> bool:
        """Return whether the records hold a derived value."""
        return self in (Variant.DERIVED, Variant.SEVERAL_DERIVED)

    @property
    def is_several(self) -> bool:
        """Return whether several records used the wrong value."""
        return self in (Variant.SEVERAL, Variant.SEVERAL_DERIVED)


class RefusalGround(StrEnum):
    """Why nothing is corrected, by the reason code that the policy wants."""

    AGREED = "completed"
    ENDED = "policy_violation"
    NO_AUTHORITY = "requirement_not_met"


@dataclass(frozen=True)
class Topic:
    """Topic of a metric; values are multiples of the step, from low to high steps."""

    key: str
    title: str
    unit: str
    other_keys: tuple[str, str]
    low: int
    high: int
    step: int


TOPICS = (
    Topic("delivery_score", "Delivery score of {vendor}", "percent", ("risk_index", "spend_to_date"), 30, 98, 1),
    Topic("compliance_score", "Compliance score of {vendor}", "points", ("risk_index", "delivery_score"), 40, 98, 1),
    Topic("spend_to_date", "Spend with {vendor} this year", "EUR", ("delivery_score", "risk_index"), 20, 400, 1000),
)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a vendor that is seen differently."""

    topic: Topic
    vendor: VendorRow
    lookalike: VendorRow | None
    value: int
    wrong: int
    adjusted_below: int
    """Below this a contract carries an adjustment."""
    percent: int

    def fields(self, held: int, *, is_derived: bool) -> dict[str, Any]:
        """Return the fields of a contract that holds a value."""
        adjustment = self.percent if held < self.adjusted_below else 0
        return {self.topic.key: held} | ({ADJUSTMENT: adjustment} if is_derived else {})


def draw_figure(world: WorldBuilder, stream: Stream, kinds: Collection[Kind]) -> Figure:
    """Draw the vendor, and what is so and what is not: far apart."""
    topic, vendor = stream.choice(TOPICS), draw_vendor(world, stream, status="active")
    draw_certificates(world, stream, vendor)
    lookalike = draw_namesake(world, stream, vendor) if Kind.SIMILAR_NAMES in kinds else None
    steps = stream.integer(topic.low, topic.high)
    far = [one for one in range(topic.low, topic.high + 1) if abs(one - steps) >= LEAST_STEPS]
    value, wrong = steps * topic.step, stream.choice(far) * topic.step
    return Figure(
        topic=topic,
        vendor=vendor,
        lookalike=lookalike,
        value=value,
        wrong=wrong,
        adjusted_below=stream.integer(min(value, wrong) + 1, max(value, wrong)),
        percent=stream.integer(2, 9),
    )


def add_readings(
    world: WorldBuilder, stream: Stream, figure: Figure, kinds: Collection[Kind], *, has_authority: bool
) -> tuple[MetricSpec, tuple[str, ...]]:
    """Add what the authority says, who is wrong, and where that strikes a third who agrees with the authority.

    Returns the authority's metric, whose first other metric is the wrong one, and every source of the figure.
    """
    topic, value = figure.topic, figure.value
    sources = choose_sources(world, stream, key=topic.key, other_keys=topic.other_keys)
    low, high = topic.low * topic.step, topic.high * topic.step

    def but_wrong(drawn: int) -> int:
        return drawn if drawn != figure.wrong else drawn + 1

    def draw_other(own: Stream) -> int:
        return but_wrong(draw_other_value(own, value, low, high))

    def title(vendor: VendorRow) -> str:
        return topic.title.format(vendor=vendor.legal_name)

    lookalike = None
    if (other := figure.lookalike) is not None:
        lookalike = LookalikeMetric(subject=other.id, title=title(other), draw_value=draw_other)
    plan = MetricPlan(
        key=topic.key,
        subject=figure.vendor.id,
        title=title(figure.vendor),
        unit=topic.unit,
        sources=sources,
        value=value,
        draw_stale_value=lambda own: but_wrong(draw_stale_value(own, topic.key, value, low, high)),
        draw_conflicting_value=draw_other,
        lookalike=lookalike,
    )
    metric = add_task_metric(world, stream, plan, set(kinds) - {Kind.CONFLICTING_SOURCES})
    rival, third = stream.shuffled(sources.other_sources)
    others = [(rival, figure.wrong), *([(third, value)] if Kind.CONFLICTING_SOURCES in kinds else [])]
    other_ids = tuple(_add_reading(world, stream, plan, source, reported) for source, reported in others)
    if not has_authority:
        sources.authority.authoritative_for.remove(topic.key)
    source_ids = tuple(sorted([sources.authority.id, *(source.id for source, _ in others)]))
    return replace(metric, other_metric_ids=other_ids), source_ids


def _add_reading(world: WorldBuilder, stream: Stream, plan: MetricPlan, source: SourceRow, value: int) -> str:
    """Let a source say something of the same thing, lately; return the id of its metric."""
    return draw_metric(
        world,
        stream,
        key=plan.key,
        subject=plan.subject,
        title=plan.title,
        unit=plan.unit,
        value=float(value),
        source=source,
        as_of=world.started_at - timedelta(minutes=stream.integer(5, 60)),
    ).id


def add_contracts(
    world: WorldBuilder, stream: Stream, figure: Figure, variant: Variant, ground: RefusalGround | None
) -> tuple[RecordRow, ...]:
    """Add contracts with and without the figure; return those that hold the vendor's, active ones first."""
    vendor, held = figure.vendor, figure.value if ground is RefusalGround.AGREED else figure.wrong
    fields = figure.fields(held, is_derived=variant.is_derived)
    draw_contract(world, stream, vendor, state="active")
    active = stream.integer(2, 3) if variant.is_several else 1
    if ground is RefusalGround.ENDED:
        states = [stream.choice(ENDED_STATES)]
    else:
        states = ["active"] * active + ([stream.choice(ENDED_STATES)] if variant.is_several else [])
    records = tuple(_add_contract(world, stream, vendor, fields, state) for state in states)
    if figure.lookalike is not None:
        _add_contract(world, stream, figure.lookalike, {**fields, figure.topic.key: figure.wrong}, "active")
    return records


def _add_contract(
    world: WorldBuilder, stream: Stream, vendor: VendorRow, fields: dict[str, Any], state: str
) -> RecordRow:
    record = draw_contract(world, stream, vendor, state=state)
    record.fields = {**record.fields, **fields}
    return record
