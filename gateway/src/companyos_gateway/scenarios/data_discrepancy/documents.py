"""The discrepancy: a vendor, the figure that sources see differently, and the contracts that hold it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.reported_values import ReportedValue
from companyos_gateway.scenarios.blocks.metrics import (
    LookalikeMetric,
    MetricPlan,
    add_task_metric,
    choose_sources,
    draw_other_value,
    draw_stale_value,
)
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.data_discrepancy.case import RefusalGround, Variant
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.metrics import draw_metric
from companyos_gateway.world.records import draw_contract
from companyos_gateway.world.seed_documents.datahub import MetricRow, RecordRow, SourceRow, VendorRow
from companyos_gateway.world.vendors import draw_certificates, draw_namesake, draw_vendor
from companyos_shared.streams import Stream

DERIVED = "adjustment_percent"
LEAST_STEPS = 12
"""By how many steps the wrong value is off at least: room for three limits of the policy below."""

ENDED_STATES = ("expired", "terminated")


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
class Discrepancy:
    """A vendor whose figure is seen differently."""

    variant: Variant
    ground: RefusalGround | None
    topic: Topic
    vendor: VendorRow
    value: int
    wrong: int
    bar: int
    """Below this a record carries an adjustment."""
    percent: int
    figure: ReportedValue
    wrong_metric_id: str
    metrics: tuple[MetricRow, ...]
    """What every source says of the figure."""
    records: tuple[RecordRow, ...]
    """The contracts that hold the figure, the ones to be corrected first."""
    to_correct: int
    lookalike: VendorRow | None

    @property
    def corrections(self) -> dict[str, dict[str, Any]]:
        """The required corrections by record."""
        fields: dict[str, Any] = {self.topic.key: self.value}
        if self.variant.is_derived:
            fields[DERIVED] = self.percent if self.value < self.bar else 0
        return {record.id: fields for record in self.records[: self.to_correct]}

    @property
    def metric_ids(self) -> tuple[str, ...]:
        """The metrics of the figure."""
        return tuple(metric.id for metric in self.metrics)

    @property
    def measuring_ids(self) -> tuple[str, ...]:
        """The sources that measure the figure."""
        return tuple(sorted(metric.source_id for metric in self.metrics))

    @property
    def deviation(self) -> int:
        """By how much the wrong value is off."""
        return abs(self.wrong - self.value)


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def add_discrepancy(world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Discrepancy:
    """Add the vendor, what sources say of it, and its contracts."""
    ground = stream.choice(list(RefusalGround)) if must_refuse else None
    variant, topic = stream.choice(list(Variant)), stream.choice(TOPICS)
    vendor = draw_vendor(world, stream, status="active")
    draw_certificates(world, stream, vendor)
    lookalike = draw_namesake(world, stream, vendor) if Kind.SIMILAR_NAMES in kinds else None
    value, wrong = _values(stream, topic)
    low, high = sorted((value, wrong))
    bar, percent = stream.integer(low + 1, high), stream.integer(2, 9)
    figure, rival, metrics = _add_figure(
        world, stream, topic, vendor, lookalike, value, wrong, kinds=kinds, ground=ground
    )
    derived = percent if wrong < bar else 0
    held = value if ground is RefusalGround.AGREED else wrong
    fields = {topic.key: held} | ({DERIVED: derived} if variant.is_derived else {})
    if ground is RefusalGround.AGREED and variant.is_derived:
        fields[DERIVED] = percent if value < bar else 0
    records, count = _add_contracts(world, stream, vendor, fields, variant, ground)
    if lookalike is not None:
        _add_contract(world, stream, lookalike, {**fields, topic.key: wrong}, state="active")
    return Discrepancy(
        variant=variant,
        ground=ground,
        topic=topic,
        vendor=vendor,
        value=value,
        wrong=wrong,
        bar=bar,
        percent=percent,
        figure=figure,
        wrong_metric_id=rival.id,
        metrics=metrics,
        records=records,
        to_correct=count,
        lookalike=lookalike,
    )


def _values(stream: Stream, topic: Topic) -> tuple[int, int]:
    """Draw what is so, and what is not: far apart."""
    low, high = topic.low, topic.high
    steps = stream.integer(low, high)
    far = [one for one in range(low, high + 1) if abs(one - steps) >= LEAST_STEPS]
    return steps * topic.step, stream.choice(far) * topic.step


def _add_figure(
    world: WorldBuilder,
    stream: Stream,
    topic: Topic,
    vendor: VendorRow,
    lookalike: VendorRow | None,
    value: int,
    wrong: int,
    *,
    kinds: Collection[Kind],
    ground: RefusalGround | None,
) -> tuple[ReportedValue, MetricRow, tuple[MetricRow, ...]]:
    """Add what the authority says, who is wrong, and where that strikes a third who agrees with the authority."""
    sources = choose_sources(world, stream, key=topic.key, other_keys=topic.other_keys)
    low, high = topic.low * topic.step, topic.high * topic.step

    def draw_other(own: Stream) -> int:
        other = draw_other_value(own, value, low, high)
        return other if other != wrong else other + 1

    def draw_stale(own: Stream) -> int:
        other = draw_stale_value(own, topic.key, value, low, high)
        return other if other != wrong else other + 1

    plan = MetricPlan(
        key=topic.key,
        subject=vendor.id,
        title=topic.title.format(vendor=vendor.legal_name),
        unit=topic.unit,
        sources=sources,
        value=value,
        draw_stale_value=draw_stale,
        draw_conflicting_value=draw_other,
        lookalike=None
        if lookalike is None
        else LookalikeMetric(
            subject=lookalike.id, title=topic.title.format(vendor=lookalike.legal_name), draw_value=draw_other
        ),
    )
    reading = add_task_metric(world, stream, plan, set(kinds) - {Kind.CONFLICTING_SOURCES})
    other_sources = stream.shuffled(sources.other_sources)
    rival = _say(world, stream, plan, other_sources[0], wrong)
    if Kind.CONFLICTING_SOURCES in kinds:
        _say(world, stream, plan, other_sources[1], value)
    metrics = tuple(row for row in world.datahub.metrics if (row.key, row.subject) == (topic.key, vendor.id))
    if ground is RefusalGround.NO_AUTHORITY:
        sources.authority.authoritative_for.remove(topic.key)
    return ReportedValue(topic.key, vendor.id, reading), rival, metrics


def _say(world: WorldBuilder, stream: Stream, plan: MetricPlan, source: SourceRow, value: int) -> MetricRow:
    """Let a source say something of the same thing, lately."""
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
    )


def _add_contracts(
    world: WorldBuilder,
    stream: Stream,
    vendor: VendorRow,
    fields: dict[str, Any],
    variant: Variant,
    ground: RefusalGround | None,
) -> tuple[tuple[RecordRow, ...], int]:
    """Add the contracts; return those that hold the figure, and how many of them have to be corrected."""
    draw_contract(world, stream, vendor, state="active")
    count = stream.integer(2, 3) if variant.is_several else 1
    if ground is RefusalGround.ENDED:
        return (_add_contract(world, stream, vendor, fields, state=stream.choice(ENDED_STATES)),), 0
    records = [_add_contract(world, stream, vendor, fields, state="active") for _ in range(count)]
    if variant.is_several:
        records.append(_add_contract(world, stream, vendor, fields, state=stream.choice(ENDED_STATES)))
    return tuple(records), 0 if ground is not None else count


def _add_contract(
    world: WorldBuilder, stream: Stream, vendor: VendorRow, fields: dict[str, Any], *, state: str
) -> RecordRow:
    record = draw_contract(world, stream, vendor, state=state)
    record.fields = {**record.fields, **fields}
    return record
