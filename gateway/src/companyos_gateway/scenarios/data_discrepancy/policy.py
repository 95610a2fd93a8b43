"""The discrepancy policy: priorities and derived values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.data_discrepancy.documents import Discrepancy, texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream

TOPIC = "data quality"


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def add_policy(world: WorldBuilder, stream: Stream, found: Discrepancy, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and another adjustment."""
    priority = stream.choice(PRIORITIES)
    words = texts()["policy"]
    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=lambda _figures: str(words["body"]),
        in_force=_figures(stream, found, priority, found.bar, found.percent),
        superseded=lambda own: _figures(
            own, found, draw_other_priority(own, priority), found.bar, found.percent + own.integer(1, 9)
        ),
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def _figures(stream: Stream, found: Discrepancy, level: Priority, bar: int, percent: int) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(stream, found.deviation, level, step=found.topic.step)
    return {
        "medium_from": medium,
        "high_from": high,
        "critical_from": critical,
        "adjusted_below": bar,
        "adjustment_percent": percent,
    }
