"""The onboarding policy: its words, its figures, and the priority that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.parts.rulebook import LADDER, add_versions, amount_limits, level_of, other_level
from companyos_gateway.scenarios.vendor_onboarding.papers import Papers
from companyos_gateway.scenarios.vendor_onboarding.ticket import texts
from companyos_gateway.world.documents.datahub import PolicyRow, RiskTier
from companyos_gateway.world.documents.ticketdesk import Priority
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TOPIC = "vendors"
BARS = (66, 84)
RAISED_TIERS: tuple[RiskTier, ...] = ("high", "medium")


@dataclass(frozen=True)
class Rules:
    """The policy version in force, and what it asks of this onboarding."""

    policy: PolicyRow
    priority: Priority
    minimum_score: int
    raises: bool
    """Whether the priority is raised for vendors of a risk tier."""


def add_rulebook(world: World, stream: Stream, papers: Papers, kinds: Collection[Kind]) -> Rules:
    """Add the policy and return its version in force with the priority that it asks for.

    A superseded policy has earlier versions, and each of them asks for another priority.
    """
    amount_cents = papers.amount_cents
    raised_tier = stream.choice(RAISED_TIERS) if stream.chance(0.5) else None
    figures = _figures(stream, amount_cents, stream.choice(LADDER), raised_tier)
    priority = priority_for(figures, amount_cents=amount_cents, risk_tier=papers.vendor.risk_tier)
    policy = add_versions(
        world,
        stream,
        titles=texts()["policy"]["titles"],
        topic=TOPIC,
        body=_body,
        in_force=figures,
        superseded=lambda own: _figures(own, amount_cents, other_level(own, priority), None),
        kinds=kinds,
    )
    return Rules(policy, priority, figures["minimum_compliance_score"], raises=raised_tier is not None)


def priority_for(figures: Mapping[str, Any], *, amount_cents: int, risk_tier: RiskTier) -> Priority:
    """Return the priority that the figures of a version ask for."""
    limits = (figures["medium_from_cents"], figures["high_from_cents"], figures["critical_from_cents"])
    return level_of(amount_cents, limits, raised=figures.get("raised_risk_tier") == risk_tier)


def _figures(stream: Stream, amount_cents: int, level: Priority, raised_tier: RiskTier | None) -> dict[str, Any]:
    """Draw figures under which the amount by itself is of the given level."""
    medium, high, critical = amount_limits(stream, amount_cents, level)
    figures: dict[str, Any] = {
        "minimum_compliance_score": stream.integer(*BARS),
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
    }
    if raised_tier is not None:
        figures["raised_risk_tier"] = raised_tier
    return figures


def _body(figures: Mapping[str, Any]) -> str:
    words = texts()["policy"]
    body: str = words["body"].replace("RAISE", words["raise"] if "raised_risk_tier" in figures else "")
    return body
