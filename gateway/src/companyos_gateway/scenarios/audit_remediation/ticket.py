"""The ticket of an audit: it names the type of approval and the first day of submission."""

from __future__ import annotations

from companyos_gateway.scenarios.audit_remediation.stack import Stack, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "security"


def entry_plan(world: World, stack: Stack) -> EntryPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            title=stack.audited.title,
            first_day=stack.first_day.isoformat(),
            person=stream.choice(world.staff.active()).name,
        )

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(title=stack.audited.title) for title in words["titles"]],
        describe=lambda stream: fill(stream, stream.choice(words["orders"])),
        fill=fill,
        words=words,
        double_texts=words["double"]["texts"],
        tags=["audit"],
        double_tags=["audit", "approvals"],
    )
