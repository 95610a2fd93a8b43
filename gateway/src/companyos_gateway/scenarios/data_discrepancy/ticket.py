"""The ticket of a discrepancy: it names the vendor and what differs, and neither the right source nor the records."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.data_discrepancy.discrepancy import Discrepancy, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "data"


def entry_plan(world: World, found: Discrepancy, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, vendor = texts(), found.vendor
    what = words["topic"][found.topic.key]

    def fill(stream: Stream, text: str) -> str:
        person = stream.choice(world.staff.active()).name
        return text.format(what=what, vendor=vendor.legal_name, vendor_id=vendor.id, person=person)

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["id", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(what=what) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["data quality"],
        double_tags=["data quality"],
        type="bug",
    )
