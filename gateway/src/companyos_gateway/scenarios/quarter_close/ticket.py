"""The ticket of a quarter close, the tickets for its parts, and the one under which it is being done already."""

from __future__ import annotations

from companyos_gateway.scenarios.parts.entry import Entry, EntryPlan
from companyos_gateway.scenarios.quarter_close.case import Ground
from companyos_gateway.scenarios.quarter_close.papers import Papers, texts
from companyos_gateway.world.backlog import add_comment, add_history
from companyos_gateway.world.documents.ticketdesk import LinkRow, TicketRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "finance"


def entry_plan(world: World, papers: Papers) -> EntryPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        person = stream.choice(world.staff.active()).name
        return text.format(cc=papers.cost_center, quarter=papers.quarter, person=person)

    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(cc=papers.cost_center, quarter=papers.quarter) for title in words["titles"]],
        describe=lambda stream: fill(stream, stream.choice(words["descriptions"])),
        fill=fill,
        words=words,
        double_texts=words["doubles"],
        tags=["close"],
        double_tags=["close"],
    )


def add_parts(world: World, stream: Stream, entry: Entry, papers: Papers) -> list[LinkRow]:
    """Add the tickets that hold up the close until their part of it is done; the links name them."""
    parts = texts()["part"]
    names = ["invoices", papers.shape.value][: 1 if papers.ground is Ground.CLOSED_BEFORE else 2]
    return [_add_part(world, stream.child(name), entry, papers, parts[name]) for name in names]


def add_other_close(world: World, stream: Stream, papers: Papers) -> TicketRow | None:
    """Add the ticket under which the quarter is being closed already, where that is so."""
    if papers.ground is not Ground.CLOSED_BEFORE:
        return None
    words = texts()
    title = stream.choice(words["titles"])
    ticket = _ticket(world, stream, papers, title, stream.choice(words["others"]))
    add_comment(world, ticket, author_id=ticket.assignee_id or "", at=ticket.updated_at, body=words["other_comment"])
    return ticket


def _add_part(world: World, stream: Stream, entry: Entry, papers: Papers, words: dict[str, str]) -> LinkRow:
    ticket = _ticket(world, stream, papers, words["title"], words["description"].replace("KEY", entry.ticket.key))
    link = LinkRow(
        id="",
        kind="blocks",
        from_key=ticket.key,
        to_key=entry.ticket.key,
        created_at=max(ticket.created_at, entry.ticket.created_at),
        created_by=entry.ticket.reporter_id,
    )
    world.desk.links.append(link)
    return link


def _ticket(world: World, stream: Stream, papers: Papers, title: str, description: str) -> TicketRow:
    slot = world.ticket_slots[TEAM].pop()
    people = [one.id for one in world.staff.active(TEAM) if one.id != world.agent_id]
    ticket = TicketRow(
        key=slot.key,
        type="task",
        title=title.format(cc=papers.cost_center, quarter=papers.quarter),
        description=description.format(cc=papers.cost_center, quarter=papers.quarter),
        status="in_progress",
        priority="medium",
        assignee_id=stream.choice(people),
        reporter_id=stream.choice(people),
        team_id=TEAM,
        tags=["close"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.desk.tickets.append(ticket)
    add_history(world, stream, ticket, ticket.reporter_id)
    return ticket
