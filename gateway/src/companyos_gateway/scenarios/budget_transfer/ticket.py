"""The ticket that orders a transfer: it cites the lines by their ids, or by their titles with the cost centres."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.budget_transfer.case import Ground
from companyos_gateway.scenarios.budget_transfer.lines import Transfer, texts
from companyos_gateway.scenarios.parts.entry import Entry, EntryPlan
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream

TEAM = FINANCE


def entry_plan(world: World, transfer: Transfer, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, giver, taker = texts(), transfer.giver, transfer.taker

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            giver=giver.id,
            taker=taker.id,
            giver_title=giver.title,
            taker_title=taker.title,
            giver_center=giver.fields["cost_center"],
            taker_center=taker.fields["cost_center"],
            amount=f"{transfer.amount_cents // 100:,}",
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "title" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "title"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(title=taker.title) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["asks"],
        tags=["budget", "transfer"],
        double_tags=["budget"],
    )


def order_by(world: World, stream: Stream, entry: Entry, transfer: Transfer) -> str:
    """Let the owner of the line that gives have ordered the transfer, or somebody else; return who did."""
    owner_id = transfer.giver.owner_id
    assert owner_id is not None
    others = [one.id for one in world.staff.active() if one.id not in (owner_id, world.agent_id)]
    is_owner = transfer.ground is not Ground.NOT_THE_OWNER
    entry.ticket.reporter_id = owner_id if is_owner else stream.choice(others)
    return entry.ticket.reporter_id
