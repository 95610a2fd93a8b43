"""The ticket of an onboarding, what blocks it and what looks like it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.vendor_onboarding.case import Unblocking
from companyos_gateway.scenarios.vendor_onboarding.papers import Papers
from companyos_gateway.scenarios.vendor_onboarding.texts import texts
from companyos_gateway.world.backlog import add_checklist, add_comment, add_history
from companyos_gateway.world.calendar import closing_of, into_office, working_days_from
from companyos_gateway.world.documents.ticketdesk import (
    DeskHappening,
    LinkRow,
    Priority,
    Status,
    TicketRow,
)
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import VENDOR_OPERATIONS
from companyos_shared.streams import Stream

DUE_IN_WORKING_DAYS = (12, 18)
WAIT_MINUTES = (120, 960)
"""Office minutes until a colleague resolves what blocks the ticket."""


@dataclass(frozen=True)
class Entry:
    """The entry ticket with what hangs on it; the link's id is known once the world is finished."""

    ticket: TicketRow
    due_on: date
    block: LinkRow | None
    way: Unblocking | None
    free_at: datetime
    """When a colleague has finished what blocks the ticket; the start where that is not awaited."""


def add_entry(world: World, stream: Stream, papers: Papers, *, priority: Priority, kinds: Collection[Kind]) -> Entry:
    """Add the entry ticket, its blocker and its double where those strike."""
    due_on = working_days_from(world.today, stream.integer(*DUE_IN_WORKING_DAYS))
    ticket = _new_ticket(world, stream, papers, due_on, kinds=kinds)
    ticket.priority = None if Kind.MISSING_PRIORITY in kinds else priority
    _add_ticket(world, stream, ticket)
    if Kind.DUPLICATE_TICKET in kinds:
        _add_double(world, stream, papers, ticket)
    if Kind.BLOCKED_TICKET not in kinds:
        return Entry(ticket, due_on, None, None, world.started_at)
    way = stream.choice(list(Unblocking))
    link = _add_blocker(world, stream, papers, ticket, way)
    free_at = _plan_resolution(world, stream, link.from_key) if way is Unblocking.WAIT else world.started_at
    return Entry(ticket, due_on, link, way, free_at)


def able_assignees(world: World, team_id: str, due_on: date) -> tuple[str, ...]:
    """Return who may work a ticket: employed, in the owning team, at work on the day it is due."""
    away = {absence.person_id for absence in world.absences if absence.first_day <= due_on <= absence.last_day}
    return tuple(one.id for one in world.staff.active(team_id) if one.id not in away)


def _new_ticket(world: World, stream: Stream, papers: Papers, due_on: date, *, kinds: Collection[Kind]) -> TicketRow:
    slot = world.ticket_slots[VENDOR_OPERATIONS].pop(-stream.integer(1, 2))
    status = _first_status(stream, kinds)
    ticket = TicketRow(
        key=slot.key,
        type="task",
        title=stream.choice(texts()["titles"]).format(vendor=papers.vendor.name),
        description=_description(world, stream, papers, kinds),
        status=status,
        priority=None,
        assignee_id=None,
        reporter_id=stream.choice([one for one in world.staff.active() if one.id != world.agent_id]).id,
        team_id=VENDOR_OPERATIONS,
        tags=["vendor", "onboarding"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
        due_at=closing_of(due_on),
    )
    ticket.assignee_id = _assignee(world, stream, ticket, due_on, kinds)
    return ticket


def _add_ticket(world: World, stream: Stream, ticket: TicketRow) -> None:
    world.desk.tickets.append(ticket)
    add_history(world, stream, ticket, ticket.reporter_id)
    steps: list[str] = stream.choice(list(texts()["checklists"].values()))
    done = stream.integer(0, len(steps) - 2)
    add_checklist(world, ticket, steps, done=done, by=ticket.reporter_id, at=ticket.updated_at)


def _first_status(stream: Stream, kinds: Collection[Kind]) -> Status | None:
    usual: list[Status] = ["open", "in_progress"]
    drawn = stream.choice(usual)
    if Kind.MISSING_STATUS in kinds:
        return None
    return "blocked" if Kind.BLOCKED_TICKET in kinds else drawn


def _assignee(world: World, stream: Stream, ticket: TicketRow, due_on: date, kinds: Collection[Kind]) -> str | None:
    usual = stream.choice(able_assignees(world, ticket.team_id, due_on))
    if Kind.MISSING_ASSIGNEE in kinds:
        return None
    return stream.choice(world.staff.departed(ticket.team_id)).id if Kind.DEPARTED_ASSIGNEE in kinds else usual


def _description(world: World, stream: Stream, papers: Papers, kinds: Collection[Kind]) -> str:
    citations = texts()["citations"]
    by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["contract", "vendor", "name"])
    return _filled(world, stream, stream.choice(citations[by]), papers)


def _filled(world: World, stream: Stream, text: str, papers: Papers) -> str:
    return text.format(
        contract=papers.contract.id,
        vendor_id=papers.vendor.id,
        legal_name=papers.vendor.legal_name,
        person=stream.choice(world.staff.active()).name,
    )


def _add_blocker(world: World, stream: Stream, papers: Papers, ticket: TicketRow, way: Unblocking) -> LinkRow:
    entry = stream.choice([one for one in texts()["blocker"] if one["way"] == way])
    team_id = entry["team"]
    slot = world.ticket_slots[team_id].pop()
    worker = stream.choice(world.staff.active(team_id))
    blocker = TicketRow(
        key=slot.key,
        type="task",
        title=_filled(world, stream, entry["title"], papers),
        description=_filled(world, stream, entry["description"], papers),
        status=entry["status"],
        priority="medium",
        assignee_id=worker.id,
        reporter_id=stream.choice(world.staff.active(team_id)).id,
        team_id=team_id,
        tags=[],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.desk.tickets.append(blocker)
    add_history(world, stream, blocker, worker.id)
    add_comment(world, blocker, author_id=worker.id, at=blocker.updated_at, body=entry["comment"])
    link = LinkRow(
        id="",
        kind="blocks",
        from_key=blocker.key,
        to_key=ticket.key,
        created_at=max(blocker.created_at, ticket.created_at),
        created_by=ticket.reporter_id,
    )
    world.desk.links.append(link)
    return link


def _plan_resolution(world: World, stream: Stream, key: str) -> datetime:
    """Let the one who works the blocker resolve it; return when."""
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*WAIT_MINUTES))
    by = next(ticket.assignee_id for ticket in world.desk.tickets if ticket.key == key)
    data = {"id": "transition-by-colleague", "ticket_key": key, "by": by, "to_status": "resolved"}
    world.desk.happenings.append(DeskHappening(due_at=due_at, kind="transition", data=data))
    return due_at


def _add_double(world: World, stream: Stream, papers: Papers, ticket: TicketRow) -> None:
    """Add a ticket about the same vendor that somebody else has opened."""
    slot = world.ticket_slots[VENDOR_OPERATIONS].pop()
    titles = [title.format(vendor=papers.vendor.name) for title in texts()["titles"]]
    double = TicketRow(
        key=slot.key,
        type="request",
        title=stream.choice([title for title in titles if title != ticket.title]),
        description=_filled(world, stream, stream.choice(texts()["citations"]["name"]), papers),
        status=stream.choice(["open", None]),
        priority=None,
        assignee_id=None,
        reporter_id=stream.choice(world.staff.active()).id,
        team_id=VENDOR_OPERATIONS,
        tags=["vendor"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.desk.tickets.append(double)
    add_history(world, stream, double, double.reporter_id)
    age: timedelta = world.started_at - slot.created_at
    moment = into_office((slot.created_at + age / 2).replace(second=0, microsecond=0))
    body = texts()["double"]["comment"]
    add_comment(world, double, author_id=ticket.reporter_id, at=moment, body=body)
