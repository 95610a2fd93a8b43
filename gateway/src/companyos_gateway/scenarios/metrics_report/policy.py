"""The reporting policy: units, and when a value is unavailable."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.policy_versions import Figures, add_policy_versions
from companyos_gateway.scenarios.metrics_report.documents import Topic, texts
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.streams import Stream

TOPIC = "reporting"
AMOUNT_UNITS = {"cents": Fraction(100), "thousand EUR": Fraction(1, 1000)}
SHARE_UNITS = {"per mille": Fraction(10), "basis points": Fraction(100), "fractions of one": Fraction(1, 100)}
"""Units by what a value in EUR, or in percent, is multiplied by."""

FAILURES = (3, 4)


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and what it makes of a figure."""

    policy: PolicyRow
    factor: Fraction
    most_failures: int


def add_policy(world: WorldBuilder, stream: Stream, topic: Topic, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for other units and give up sooner."""
    words = texts()["policy"]
    amount, share = stream.choice(list(AMOUNT_UNITS)), stream.choice(list(SHARE_UNITS))
    in_force: Figures = {
        "amount_unit": amount,
        "share_unit": share,
        "most_failures": stream.integer(*FAILURES),
    }

    def superseded(own: Stream) -> Figures:
        return {
            "amount_unit": own.choice([one for one in AMOUNT_UNITS if one != amount]),
            "share_unit": own.choice([one for one in SHARE_UNITS if one != share]),
            "most_failures": own.integer(1, 2),
        }

    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=lambda _figures: str(words["body"]),
        in_force=in_force,
        superseded=superseded,
        kinds=kinds,
    )
    factor = SHARE_UNITS[share] if topic.is_share else AMOUNT_UNITS[amount]
    return PolicyTerms(policy, factor, in_force["most_failures"])
