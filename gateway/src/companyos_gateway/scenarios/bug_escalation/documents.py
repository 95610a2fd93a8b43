"""The fault: which services fail, how often, what a runbook says, and what the policy makes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.scenarios.blocks.metrics import (
    MetricPlan,
    MetricSources,
    add_task_metric,
    choose_sources,
    draw_other_value,
)
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, Variant
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream

TOPIC = "incidents"
UNIT = "percent"
BARS = (5, 8)
HIGHEST_RATE = 40
LOWEST_ESCALATED = 12
"""Rates that are escalated leave room for three limits of the policy below them."""

SLA_MINUTES = (360, 480, 720)
REFRESH_MINUTES = (10, 60)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failing service and its refreshed error rate."""

    variant: Variant
    service: str
    rate: int
    other: str | None
    """The other service of a chain, which fails less."""
    bar: int
    must_refuse: bool


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def draw_failure(world: WorldBuilder, stream: Stream, *, must_refuse: bool) -> Failure:
    """Draw what fails: services of which nobody measures the error rate yet."""
    measured = {metric.subject for metric in world.datahub.metrics if metric.key == METRIC_KEY}
    free = [name for name in pool("data")["slots"]["service"] if name not in measured]
    service, other = stream.sample(free, 2)
    variant = stream.choice(list(Variant))
    bar = stream.integer(*BARS)
    rate = stream.integer(1, bar - 1) if must_refuse else stream.integer(LOWEST_ESCALATED, HIGHEST_RATE)
    return Failure(
        variant=variant,
        service=service,
        rate=rate,
        other=other if variant is Variant.CHAIN else None,
        bar=bar,
        must_refuse=must_refuse,
    )


def add_policy(world: WorldBuilder, stream: Stream, failure: Failure, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and draw the bar on the other side of the rate."""
    priority = stream.choice(PRIORITIES)
    words = texts()["policy"]
    runbook = words["runbook"] if failure.variant is Variant.RUNBOOK else ""

    def body(_figures: Mapping[str, Any]) -> str:
        text: str = words["body"]
        return text.replace("RUNBOOK", runbook)

    def superseded(own: Stream) -> PolicyParameters:
        bar = own.integer(1, failure.rate) if failure.must_refuse else own.integer(failure.rate + 1, HIGHEST_RATE + 9)
        return _figures(own, failure, draw_other_priority(own, priority), bar)

    in_force = _figures(stream, failure, priority, failure.bar)
    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=body,
        in_force=in_force,
        superseded=superseded,
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def choose_authority(world: WorldBuilder, stream: Stream) -> MetricSources:
    """Choose who is the authority on error rates; it promises hours, so that a person can decide meanwhile."""
    sources = choose_sources(world, stream, key=METRIC_KEY, other_keys=("risk_index", "delivery_score"))
    sources.authority.freshness_sla_minutes = stream.choice(SLA_MINUTES)
    return sources


def add_rate(
    world: WorldBuilder, stream: Stream, failure: Failure, sources: MetricSources, kinds: Collection[Kind]
) -> MetricSpec:
    """Add the error rate that counts: stale where that strikes, with others who see it on the other side of the bar."""
    across = (failure.bar, HIGHEST_RATE) if failure.must_refuse else (0, failure.bar - 1)
    old = (failure.bar, HIGHEST_RATE) if failure.must_refuse else (0, HIGHEST_RATE)
    plan = MetricPlan(
        key=METRIC_KEY,
        subject=failure.service,
        title=f"Error rate of {failure.service}",
        unit=UNIT,
        sources=sources,
        value=failure.rate,
        draw_stale_value=lambda own: draw_other_value(own, failure.rate, *old),
        draw_conflicting_value=lambda own: own.integer(*across),
        refresh_minutes=REFRESH_MINUTES,
    )
    return add_task_metric(world, stream, plan, kinds)


def add_other_rate(world: WorldBuilder, stream: Stream, failure: Failure, sources: MetricSources) -> MetricSpec | None:
    """Add that of the other service of a chain: fresh, and lower."""
    if failure.other is None:
        return None
    value = stream.integer(0, failure.rate - 1)
    plan = MetricPlan(
        key=METRIC_KEY,
        subject=failure.other,
        title=f"Error rate of {failure.other}",
        unit=UNIT,
        sources=sources,
        value=value,
        draw_stale_value=lambda _own: value,
        draw_conflicting_value=lambda _own: value,
        refresh_minutes=REFRESH_MINUTES,
    )
    return add_task_metric(world, stream, plan, ())


def add_runbook(world: WorldBuilder, stream: Stream, failure: Failure) -> str | None:
    """File the runbooks, of which one is that of the service; return its id where the request wants one."""
    if failure.variant is not Variant.RUNBOOK:
        return None
    others = [name for name in pool("data")["slots"]["service"] if name != failure.service]
    ids = {name: _file(world, stream, name) for name in [*stream.sample(others, 2), failure.service]}
    return ids[failure.service]


def _file(world: WorldBuilder, stream: Stream, service: str) -> str:
    filed_at = draw_office_time(stream, working_days_from(world.today, -stream.integer(10, 55)))
    record = RecordRow(
        id=world.ids.take("DOC"),
        kind="document",
        title=f"Runbook: {service}",
        state="published",
        owner_id=stream.choice(world.staff.active("platform")).id,
        vendor_id=None,
        amount_cents=None,
        currency=None,
        starts_on=None,
        ends_on=None,
        fields={"document_type": "runbook", "service": service, "revision": stream.integer(1, 9)},
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.datahub.records.append(record)
    return record.id


def _figures(stream: Stream, failure: Failure, level: Priority, bar: int) -> PolicyParameters:
    counted = max(failure.rate, LOWEST_ESCALATED)
    medium, high, critical = draw_priority_limits(stream, counted, level, step=1)
    return {
        "medium_from_percent": medium,
        "high_from_percent": high,
        "critical_from_percent": critical,
        "escalate_from_percent": bar,
    }
