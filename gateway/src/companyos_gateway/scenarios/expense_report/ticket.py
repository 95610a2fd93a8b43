"""The ticket of an expense report: it cites the record, the employee's number, or name and title."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.expense_report.case import Papers
from companyos_gateway.scenarios.expense_report.report import Report, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.backlog import add_comment
from companyos_gateway.world.calendar import into_office
from companyos_gateway.world.documents.ticketdesk import TicketRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import FINANCE
from companyos_shared.streams import Stream


def entry_plan(world: World, report: Report, kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words, first = texts(), report.records[0]

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            expense=first.id,
            title=first.title,
            owner=report.owner.name,
            owner_id=report.owner.id,
            purpose=report.purpose,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["record", "owner", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return EntryPlan(
        team_id=FINANCE,
        titles=[title.format(owner=report.owner.name, purpose=report.purpose) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["name"],
        tags=["expenses"],
        double_tags=["expenses", "repayment"],
    )


def add_promise(world: World, stream: Stream, report: Report, ticket: TicketRow) -> None:
    """Let the employee say on the ticket that the receipt is still to come."""
    if report.papers is not Papers.COMES:
        return
    body = stream.choice(texts()["receipts"]["comes"])
    age = world.started_at - ticket.created_at
    moment = into_office((ticket.created_at + age * 3 / 4).replace(second=0, microsecond=0))
    add_comment(world, ticket, author_id=report.owner.id, at=moment, body=body)
