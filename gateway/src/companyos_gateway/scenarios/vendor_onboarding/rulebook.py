"""The onboarding policy: its words, its figures, and the priority that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.vendor_onboarding.papers import Papers
from companyos_gateway.scenarios.vendor_onboarding.texts import texts
from companyos_gateway.world.documents.datahub import PolicyRow, RiskTier
from companyos_gateway.world.documents.ticketdesk import Priority
from companyos_gateway.world.draft import World
from companyos_gateway.world.policies import PolicyHead, PolicyText, add_policy
from companyos_shared.streams import Stream

TOPIC = "vendors"
LADDER: tuple[Priority, ...] = ("low", "medium", "high", "critical")
BARS = (66, 84)
RAISED_TIERS: tuple[RiskTier, ...] = ("high", "medium")
LIMIT_STEP_CENTS = 1_000_000
"""Limits of amounts are multiples of 10,000 in the currency."""


@dataclass(frozen=True)
class Rules:
    """The policy version in force, and what it asks of this onboarding."""

    policy: PolicyRow
    priority: Priority
    minimum_score: int


def add_rulebook(world: World, stream: Stream, papers: Papers, kinds: Collection[Kind]) -> Rules:
    """Add the policy and return its version in force with the priority that it asks for.

    A superseded policy has earlier versions, and each of them asks for another priority.
    """
    amount_cents = papers.amount_cents
    raised_tier = stream.choice(RAISED_TIERS) if stream.chance(0.5) else None
    figures = _figures(stream, amount_cents, stream.choice(LADDER), raised_tier)
    priority = priority_for(figures, amount_cents=amount_cents, risk_tier=papers.vendor.risk_tier)
    versions = [_text(figures)]
    for _ in range(stream.integer(1, 2) if Kind.SUPERSEDED_POLICY in kinds else 0):
        other = stream.choice([level for level in LADDER if level != priority])
        versions.insert(0, _text(_figures(stream, amount_cents, other, None)))
    head = PolicyHead(world.free_policy_id, stream.choice(texts()["policy"]["titles"]), TOPIC)
    policy = add_policy(world, stream, head, versions)[-1]
    return Rules(policy, priority, figures["minimum_compliance_score"])


def priority_for(figures: Mapping[str, Any], *, amount_cents: int, risk_tier: RiskTier) -> Priority:
    """Return the priority that the figures of a version ask for."""
    limits = (figures["medium_from_cents"], figures["high_from_cents"], figures["critical_from_cents"])
    level = sum(1 for limit in limits if amount_cents >= limit)
    if figures.get("raised_risk_tier") == risk_tier:
        level = min(level + 1, len(LADDER) - 1)
    return LADDER[level]


def _figures(stream: Stream, amount_cents: int, level: Priority, raised_tier: RiskTier | None) -> dict[str, Any]:
    """Draw figures under which the amount by itself is of the given level."""
    place = LADDER.index(level)
    steps = amount_cents // LIMIT_STEP_CENTS
    down, up = steps - stream.integer(0, 2), steps + stream.integer(1, 4)
    below: list[int] = []
    above: list[int] = []
    for _ in range(place):
        below.insert(0, down)
        down -= stream.integer(1, 2)
    for _ in range(len(LADDER) - 1 - place):
        above.append(up)
        up += stream.integer(1, 9)
    medium, high, critical = (limit * LIMIT_STEP_CENTS for limit in below + above)
    figures: dict[str, Any] = {
        "minimum_compliance_score": stream.integer(*BARS),
        "medium_from_cents": medium,
        "high_from_cents": high,
        "critical_from_cents": critical,
    }
    if raised_tier is not None:
        figures["raised_risk_tier"] = raised_tier
    return figures


def _text(figures: Mapping[str, Any]) -> PolicyText:
    words = texts()["policy"]
    return PolicyText(words["body"].replace("RAISE", words["raise"] if "raised_risk_tier" in figures else ""), figures)
