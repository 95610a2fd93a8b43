"""The ticket of a contract renewal: it cites the record, or the title with the vendor's number or name."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.contract_renewal.case import Shape
from companyos_gateway.scenarios.contract_renewal.contract import Contract, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.backlog import add_comment
from companyos_gateway.world.calendar import into_office
from companyos_gateway.world.documents.ticketdesk import TicketRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "procurement"


def entry_plan(world: World, contract: Contract, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, record, vendor = texts(), contract.record, contract.vendor
    service = str(record.fields["service"])

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            contract=record.id,
            title=record.title,
            service=service,
            vendor=vendor.name,
            vendor_id=vendor.id,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        cites = ["record", "vendor"] if Kind.SIMILAR_NAMES in kinds else ["record", "vendor", "name"]
        return fill(stream, stream.choice(words["citations"][stream.choice(cites)]))

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(service=service, vendor=vendor.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["contract", "renewal"],
        double_tags=["contract"],
    )


def add_notice(world: World, stream: Stream, contract: Contract, ticket: TicketRow) -> None:
    """Let a colleague say on the ticket that a certificate is still to come."""
    document = contract.certified.document
    if contract.shape is not Shape.AWAITED or document is None:
        return
    age = world.started_at - ticket.created_at
    moment = into_office((ticket.created_at + age * 3 / 4).replace(second=0, microsecond=0))
    assert document.owner_id is not None
    add_comment(world, ticket, author_id=document.owner_id, at=moment, body=stream.choice(texts()["promises"]))
