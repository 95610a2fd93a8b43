"""The ticket of a bank change: it cites the letter, or the vendor by its id or name."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.scenarios.vendor_bank_change.case import Shape
from companyos_gateway.scenarios.vendor_bank_change.letter import Letter, texts
from companyos_gateway.world.backlog import add_comment
from companyos_gateway.world.calendar import into_office
from companyos_gateway.world.documents.ticketdesk import TicketRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import VENDOR_OPERATIONS
from companyos_shared.streams import Stream


def entry_plan(world: World, letter: Letter, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, vendor = texts(), letter.vendor

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            letter=letter.document.id,
            vendor=vendor.name,
            vendor_id=vendor.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        cites = ["record", "vendor"] if Kind.SIMILAR_NAMES in kinds else ["record", "vendor", "name"]
        return fill(stream, stream.choice(words["citations"][stream.choice(cites)]))

    return EntryPlan(
        team_id=VENDOR_OPERATIONS,
        titles=[title.format(vendor=vendor.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["vendors", "bank"],
        double_tags=["vendors"],
    )


def add_notice(world: World, stream: Stream, letter: Letter, ticket: TicketRow) -> None:
    """Let a colleague say on the ticket that the call is still to come."""
    if letter.shape is not Shape.CALL_COMES or letter.note is None:
        return
    age = world.started_at - ticket.created_at
    moment = into_office((ticket.created_at + age * 3 / 4).replace(second=0, microsecond=0))
    assert letter.note.owner_id is not None
    add_comment(world, ticket, author_id=letter.note.owner_id, at=moment, body=stream.choice(texts()["calls"]))
