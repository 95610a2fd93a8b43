"""The ticket of an invoice: it cites the record, or the vendor's own number with the vendor's id or name."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.scenarios.purchase_order.case import Shape
from companyos_gateway.scenarios.purchase_order.papers import Papers, texts
from companyos_gateway.world.backlog import add_comment
from companyos_gateway.world.calendar import into_office
from companyos_gateway.world.documents.ticketdesk import TicketRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream


def entry_plan(world: World, papers: Papers, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            invoice=papers.invoice.id,
            number=papers.number,
            item=papers.item,
            vendor=papers.sender.name,
            vendor_id=papers.sender.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "vendor" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "vendor", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=FINANCE,
        titles=[title.format(vendor=papers.sender.name, item=papers.item) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["invoices"],
        double_tags=["invoices", "payables"],
    )


def add_notice(world: World, stream: Stream, papers: Papers, ticket: TicketRow) -> None:
    """Let a colleague say on the ticket that goods are still being inspected."""
    if papers.shape is not Shape.INSPECTED:
        return
    receipt = papers.receipts[-1]
    age = world.started_at - ticket.created_at
    moment = into_office((ticket.created_at + age * 3 / 4).replace(second=0, microsecond=0))
    assert receipt.owner_id is not None
    add_comment(world, ticket, author_id=receipt.owner_id, at=moment, body=stream.choice(texts()["inspections"]))
