"""The ticket of an offboarding: it names the leaver by number, or by name and team."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.employee_offboarding.leaver import Leaver, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "people"


def entry_plan(world: World, leaver: Leaver, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, person = texts(), leaver.person
    team = next(one.name for one in world.staff.teams if one.id == person.team_id)

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            name=person.name,
            person_id=person.id,
            team=team,
            colleague=stream.choice([one for one in world.staff.active() if one.name != person.name]).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["number", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(name=person.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["offboarding"],
        double_tags=["offboarding", "leaver"],
    )
