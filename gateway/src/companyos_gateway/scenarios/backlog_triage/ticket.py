"""The ticket that orders a sweep, and another sweep that is in progress."""

from __future__ import annotations

from companyos_gateway.scenarios.backlog_triage.case import TAG, Ground
from companyos_gateway.scenarios.backlog_triage.queue import Queue, texts
from companyos_gateway.scenarios.parts.entry import Entry, EntryPlan
from companyos_gateway.world.backlog import add_history
from companyos_gateway.world.documents.ticketdesk import TicketRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAMS = ("workplace", "platform", "data", "vendor-operations")


def entry_plan(world: World, queue: Queue) -> EntryPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(tag=queue.tag, person=stream.choice(world.staff.active()).name)

    return EntryPlan(
        team_id=queue.team_id,
        titles=[title.format(tag=queue.tag) for title in words["titles"]],
        describe=lambda stream: fill(stream, stream.choice(words["orders"])),
        fill=fill,
        words=words,
        double_texts=words["asks"],
        tags=[TAG, "sweep"],
        double_tags=[TAG],
    )


def order_by(world: World, stream: Stream, entry: Entry, *, ground: Ground | None) -> str:
    """Let the lead of the team have ordered the sweep, or somebody who may not; return who did."""
    ticket = entry.ticket
    lead_id = world.staff.lead(ticket.team_id).id
    others = [one.id for one in world.staff.active() if one.id not in (lead_id, world.agent_id)]
    ticket.reporter_id = stream.choice(others) if ground is Ground.NOT_ORDERED else lead_id
    return ticket.reporter_id


def add_other_sweep(world: World, stream: Stream, queue: Queue, *, is_same: bool) -> str:
    """Add a sweep that a colleague has begun, of the same tickets or of others; return its key."""
    words = texts()
    tag = queue.tag if is_same else stream.choice([tag for tag in words["tags"] if tag != queue.tag])
    slot = world.ticket_slots[queue.team_id].pop(0)
    person = world.staff.lead(queue.team_id)
    worker = stream.choice([one for one in world.staff.active(queue.team_id) if one.id != world.agent_id])
    ticket = TicketRow(
        key=slot.key,
        type="task",
        title=stream.choice(words["titles"]).format(tag=tag),
        description=stream.choice(words["orders"]).format(tag=tag, person=person.name),
        status="in_progress",
        priority="medium",
        assignee_id=worker.id,
        reporter_id=person.id,
        team_id=queue.team_id,
        tags=[TAG, "sweep"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.desk.tickets.append(ticket)
    add_history(world, stream, ticket, worker.id)
    return ticket.key
