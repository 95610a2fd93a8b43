"""Discrepancies: a vendor, the figure that sources see differently, and the contracts that hold it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

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
    vendor: kit.VendorRow
    lookalike: kit.VendorRow | None
    value: int
    wrong: int
    adjusted_below: int
    """Below this a contract carries an adjustment."""
    percent: int

    def fields(self, held: int, *, is_derived: bool) -> dict[str, Any]:
        """Return the fields of a contract that holds a value."""
        adjustment = self.percent if held < self.adjusted_below else 0
        return {self.topic.key: held} | ({ADJUSTMENT: adjustment} if is_derived else {})


def draw_figure(build: kit.BuildContext) -> Figure:
    """Draw the vendor, and what is so and what is not: far apart."""
    world, stream = build.world, build.stream
    topic, vendor = stream.choice(TOPICS), kit.draw_vendor(world, stream, status="active")
    kit.draw_certificates(world, stream, vendor)
    lookalike = kit.draw_namesake(world, stream, vendor) if kit.Kind.SIMILAR_NAMES in build.kinds else None
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
    build: kit.BuildContext, figure: Figure, *, has_authority: bool
) -> tuple[kit.MetricSpec, tuple[str, ...]]:
    """Add what the authority says, who is wrong, and where that strikes a third who agrees with the authority.

    Returns the authority's metric, whose first other metric is the wrong one, and every source of the figure.
    """
    world, stream = build.world, build.stream
    topic, value = figure.topic, figure.value
    sources = kit.choose_sources(world, stream, key=topic.key, other_keys=topic.other_keys)
    low, high = topic.low * topic.step, topic.high * topic.step

    def but_wrong(drawn: int) -> int:
        return drawn if drawn != figure.wrong else drawn + 1

    def draw_other(own: kit.Stream) -> int:
        return but_wrong(kit.draw_other_value(own, value, low, high))

    def title(vendor: kit.VendorRow) -> str:
        return topic.title.format(vendor=vendor.legal_name)

    lookalike = None
    if (other := figure.lookalike) is not None:
        lookalike = kit.LookalikeMetric(subject=other.id, title=title(other), draw_value=draw_other)
    plan = kit.MetricPlan(
        key=topic.key,
        subject=figure.vendor.id,
        title=title(figure.vendor),
        unit=topic.unit,
        sources=sources,
        value=value,
        draw_stale_value=lambda own: but_wrong(kit.draw_stale_value(own, topic.key, value, low, high)),
        draw_conflicting_value=draw_other,
        lookalike=lookalike,
    )
    metric = kit.add_task_metric(world, stream, plan, set(build.kinds) - {kit.Kind.CONFLICTING_SOURCES})
    rival, third = stream.shuffled(sources.other_sources)
    others = [(rival, figure.wrong), *([(third, value)] if kit.Kind.CONFLICTING_SOURCES in build.kinds else [])]
    other_ids = tuple(_add_reading(build, plan, source, reported) for source, reported in others)
    if not has_authority:
        sources.authority.authoritative_for.remove(topic.key)
    source_ids = tuple(sorted([sources.authority.id, *(source.id for source, _ in others)]))
    return replace(metric, other_metric_ids=other_ids), source_ids


def _add_reading(build: kit.BuildContext, plan: kit.MetricPlan, source: kit.SourceRow, value: int) -> str:
    """Let a source say something of the same thing, lately; return the id of its metric."""
    world, stream = build.world, build.stream
    return kit.draw_metric(
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
    build: kit.BuildContext, figure: Figure, variant: Variant, ground: RefusalGround | None
) -> tuple[kit.RecordRow, ...]:
    """Add contracts with and without the figure; return those that hold the vendor's, active ones first."""
    world, stream = build.world, build.stream
    vendor, held = figure.vendor, figure.value if ground is RefusalGround.AGREED else figure.wrong
    fields = figure.fields(held, is_derived=variant.is_derived)
    kit.draw_contract(world, stream, vendor, state="active")
    active = stream.integer(2, 3) if variant.is_several else 1
    if ground is RefusalGround.ENDED:
        states = [stream.choice(ENDED_STATES)]
    else:
        states = ["active"] * active + ([stream.choice(ENDED_STATES)] if variant.is_several else [])
    records = tuple(_add_contract(build, vendor, fields, state) for state in states)
    if figure.lookalike is not None:
        _add_contract(build, figure.lookalike, {**fields, figure.topic.key: figure.wrong}, "active")
    return records


def _add_contract(build: kit.BuildContext, vendor: kit.VendorRow, fields: dict[str, Any], state: str) -> kit.RecordRow:
    world, stream = build.world, build.stream
    record = kit.draw_contract(world, stream, vendor, state=state)
    record.fields = {**record.fields, **fields}
    return record
