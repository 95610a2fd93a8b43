"""The ticket of an onboarding: it cites its vendor by contract, number or legal name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.scenarios.parts.words import words_beside
from companyos_gateway.scenarios.vendor_onboarding.papers import Papers
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import VENDOR_OPERATIONS
from companyos_shared.streams import Stream


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return words_beside(__file__)


def entry_plan(world: World, papers: Papers, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            contract=papers.contract.id,
            vendor_id=papers.vendor.id,
            legal_name=papers.vendor.legal_name,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["contract", "vendor", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=VENDOR_OPERATIONS,
        titles=[title.format(vendor=papers.vendor.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["vendor", "onboarding"],
        double_tags=["vendor"],
    )
