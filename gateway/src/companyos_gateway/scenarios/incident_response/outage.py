"""The outage: which service fails since which release, how often, and what the policy makes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.rubrics.cases import Reading
from companyos_gateway.scenarios.incident_response.case import METRIC_KEY, Ground, Shape
from companyos_gateway.scenarios.parts.measures import MeasurePlan, add_measure, another, choose_sources
from companyos_gateway.scenarios.parts.rulebook import LADDER, Figures, add_versions, amount_limits, other_level
from companyos_gateway.scenarios.parts.words import words_beside
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.documents.ticketdesk import Priority
from companyos_gateway.world.draft import World
from companyos_gateway.world.pools import pool
from companyos_shared.streams import Stream

TOPIC = "incidents"
UNIT = "percent"
BARS = (5, 8)
HIGHEST_RATE = 40
LOWEST_ANSWERED = 12
"""Rates of incidents leave room for three limits of the policy below them."""

SLA_MINUTES = (360, 480, 720)
"""How old the authority lets a rate become: hours, so that a person can decide meanwhile."""

REFRESH_MINUTES = (10, 60)


@dataclass(frozen=True, kw_only=True)
class Outage:
    """What fails, since when, and how often once looked at freshly."""

    shape: Shape
    ground: Ground | None
    service: str
    below: str
    """The service that it depends on."""
    others: tuple[str, ...]
    """Services that nothing is wrong with."""
    release: str
    other_release: str
    rate: int
    bar: int

    @property
    def is_below(self) -> bool:
        """Whether the fresh rate carries no incident."""
        return self.ground is Ground.BELOW

    @property
    def changed(self) -> str:
        """The service whose release is the cause."""
        return self.below if self.shape is Shape.UPSTREAM else self.service


@dataclass(frozen=True)
class Rules:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return words_beside(__file__)


def draw_outage(world: World, stream: Stream, *, must_refuse: bool) -> Outage:
    """Draw what fails: a service of which nobody measures the error rate yet."""
    measured = {metric.subject for metric in world.hub.metrics if metric.key == METRIC_KEY}
    names = stream.shuffled(pool("data")["slots"]["service"])
    service = next(name for name in names if name not in measured)
    below, *others = [name for name in names if name != service]
    shape, ground = stream.choice(list(Shape)), stream.choice(list(Ground))
    refused = ground if must_refuse else None
    bar, is_below = stream.integer(*BARS), refused is Ground.BELOW
    major, minor = stream.integer(2, 19), stream.integer(1, 30)
    return Outage(
        shape=shape,
        ground=refused,
        service=service,
        below=below,
        others=tuple(others[:3]),
        release=f"{major}.{minor + 1}",
        other_release=f"{major}.{minor}",
        rate=stream.integer(1, bar - 1) if is_below else stream.integer(LOWEST_ANSWERED, HIGHEST_RATE),
        bar=bar,
    )


def add_rules(world: World, stream: Stream, outage: Outage, kinds: Collection[Kind]) -> Rules:
    """Add the policy; earlier versions ask for another priority and draw the bar on the other side of the rate."""
    priority = stream.choice(LADDER)
    words = texts()["policy"]

    def body(_figures: Mapping[str, Any]) -> str:
        text: str = words["body"]
        return text.replace("CAUSE", words[outage.shape.value])

    def superseded(own: Stream) -> Figures:
        rate = outage.rate
        bar = own.integer(1, rate) if outage.is_below else own.integer(rate + 1, HIGHEST_RATE + 9)
        return _figures(own, outage, other_level(own, priority), bar)

    policy = add_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=body,
        in_force=_figures(stream, outage, priority, outage.bar),
        superseded=superseded,
        kinds=kinds,
    )
    return Rules(policy, priority)


def add_rate(world: World, stream: Stream, outage: Outage, kinds: Collection[Kind]) -> Reading:
    """Add the error rate: stale where that strikes, with others who see it on the other side of the bar."""
    sources = choose_sources(world, stream, key=METRIC_KEY, rival_keys=("risk_index", "delivery_score"))
    sources.authority.freshness_sla_minutes = stream.choice(SLA_MINUTES)
    across = (outage.bar, HIGHEST_RATE) if outage.is_below else (0, outage.bar - 1)
    old = (outage.bar, HIGHEST_RATE) if outage.is_below else (0, HIGHEST_RATE)
    plan = MeasurePlan(
        key=METRIC_KEY,
        subject=outage.service,
        title=f"Error rate of {outage.service}",
        unit=UNIT,
        sources=sources,
        value=outage.rate,
        draw_old=lambda own: another(own, outage.rate, *old),
        draw_rival=lambda own: own.integer(*across),
        refresh_minutes=REFRESH_MINUTES,
    )
    return add_measure(world, stream, plan, kinds)


def _figures(stream: Stream, outage: Outage, level: Priority, bar: int) -> Figures:
    medium, high, critical = amount_limits(stream, max(outage.rate, LOWEST_ANSWERED), level, step=1)
    return {
        "medium_from_percent": medium,
        "high_from_percent": high,
        "critical_from_percent": critical,
        "incident_from_percent": bar,
    }
