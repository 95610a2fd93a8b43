"""The ticket of a licence renewal: it cites the record, or the title with the vendor's number or name."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.license_renewal.licence import Licence, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "procurement"


def entry_plan(world: World, licence: Licence, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, record = texts(), licence.record

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            licence=record.id,
            title=record.title,
            product=licence.product,
            vendor=licence.vendor.name,
            vendor_id=licence.vendor.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "vendor" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "vendor", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(product=licence.product) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["licence", "renewal"],
        double_tags=["licence"],
    )
