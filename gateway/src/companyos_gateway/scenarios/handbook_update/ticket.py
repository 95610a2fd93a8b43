"""The ticket of a handbook update: it cites the draft by id, or by title, revision and author."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.handbook_update.pages import Page, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "people"


def entry_plan(world: World, page: Page, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, draft = texts(), page.draft

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            document=draft.id,
            title=draft.title,
            revision=page.revision,
            owner=page.owner.name,
            owner_id=page.owner.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "owner", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(title=draft.title.partition(": ")[2]) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["handbook"],
        double_tags=["handbook", "publication"],
    )
