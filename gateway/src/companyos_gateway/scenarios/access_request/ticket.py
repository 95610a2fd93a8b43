"""The ticket of an access request: it cites the grant, or its title with the number or name of the person."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.access_request.access import Access, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "workplace"


def entry_plan(world: World, access: Access, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, record = texts(), access.record

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            grant=record.id,
            title=record.title,
            system=access.system,
            person_name=access.person.name,
            person_id=access.person.id,
            colleague=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "number", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(system=access.system, person_name=access.person.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["access"],
        double_tags=["access", "request"],
    )
