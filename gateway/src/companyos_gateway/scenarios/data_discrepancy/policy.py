"""What the policy on discrepancies says: how urgent they are, and what follows from a figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.data_discrepancy.documents import Discrepancy, texts
from companyos_gateway.scenarios.parts.rulebook import LADDER, Figures, add_versions, amount_limits, other_level
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.documents.ticketdesk import Priority
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TOPIC = "data quality"


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(world: World, stream: Stream, found: Discrepancy, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and another adjustment."""
    priority = stream.choice(LADDER)
    words = texts()["policy"]
    policy = add_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=lambda _figures: str(words["body"]),
        in_force=_figures(stream, found, priority, found.bar, found.percent),
        superseded=lambda own: _figures(
            own, found, other_level(own, priority), found.bar, found.percent + own.integer(1, 9)
        ),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def _figures(stream: Stream, found: Discrepancy, level: Priority, bar: int, percent: int) -> Figures:
    medium, high, critical = amount_limits(stream, found.deviation, level, step=found.topic.step)
    return {
        "medium_from": medium,
        "high_from": high,
        "critical_from": critical,
        "adjusted_below": bar,
        "adjustment_percent": percent,
    }
