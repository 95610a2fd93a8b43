"""The backlog: tickets of every team with checklists, comments, links and a history that fits their status."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Collection, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import closing_time, draw_office_moments, draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.ticketdesk import (
    ChecklistRow,
    CommentRow,
    LinkRow,
    Priority,
    Status,
    TicketRow,
    TransitionRow,
)
from companyos_gateway.world.text_templates import TextTemplate
from companyos_shared.streams import Stream

FREE_SLOTS = 4
"""Number of free ticket keys per team; unused ones remain gaps, as in any real sequence."""

OLDEST_DAYS = 90
FREE_SLOT_WORKING_DAYS = (2, 4)
"""Age range of the free keys. Tasks use them, so their tickets are newer than the records that they are about."""

LONGEST_STEP = timedelta(days=3)
"""Maximum average time that a ticket spends in each status before the last one."""

LINKS = (9, 13)
_STATUSES: list[tuple[Status | None, int]] = [
    (None, 6),
    ("open", 22),
    ("in_progress", 20),
    ("blocked", 5),
    ("in_review", 8),
    ("resolved", 18),
    ("closed", 14),
    ("cancelled", 6),
]
_PRIORITIES: list[tuple[Priority | None, int]] = [("low", 5), ("medium", 8), ("high", 4), ("critical", 1), (None, 2)]
_STATUS_PATHS: dict[Status | None, tuple[Status, ...]] = {
    None: (),
    "open": ("open",),
    "in_progress": ("open", "in_progress"),
    "blocked": ("open", "in_progress", "blocked"),
    "in_review": ("open", "in_progress", "in_review"),
    "resolved": ("open", "in_progress", "resolved"),
    "closed": ("open", "in_progress", "resolved", "closed"),
    "cancelled": ("open", "cancelled"),
}
_MONTHS = tuple(month_name)[1:]
_DONE_STATUSES: frozenset[Status | None] = frozenset({"resolved", "closed"})
_COMMENT_GROUPS = {None: "open", "resolved": "done", "closed": "done"}


def draw_backlog(world: WorldBuilder, stream: Stream, scale: int = 1) -> None:
    """Draw the tickets of all teams and their links, `scale` times as many tickets as usual."""
    for entry in pool("teams")["team"]:
        team_id = entry["id"]
        own = stream.child(team_id)
        world.ticketdesk.team_prefixes[team_id] = entry["prefix"]
        count = own.integer(*entry["tickets"]) * scale
        used, world.ticket_slots[team_id] = _draw_key_slots(own, world, entry["prefix"], count)
        for slot, template in zip(used, draw_templates(own, team_id, len(used)), strict=True):
            draw_ticket(world, stream.child(slot.key), team_id, slot, template)
    _draw_links(world, stream.child("links"))


def draw_templates(stream: Stream, team_id: str, count: int) -> list[dict[str, Any]]:
    """Draw ticket templates of a team; none repeats before all have been drawn."""
    drawn: list[dict[str, Any]] = []
    while len(drawn) < count:
        drawn += stream.shuffled(_templates_of(team_id))
    return drawn[:count]


@cache
def _templates_of(team_id: str) -> list[dict[str, Any]]:
    return [one for one in pool("tickets")["ticket"] if team_id in one["teams"]]


def draw_ticket(
    world: WorldBuilder,
    stream: Stream,
    team_id: str,
    slot: KeySlot,
    template: dict[str, Any],
    *,
    status: Status | None = None,
) -> TicketRow:
    """Add a ticket from a template, in the given status or a drawn one, and return it."""
    status = status or stream.weighted(_STATUSES)
    team = world.present(slot.created_at.date(), team_id=team_id)
    assignee = stream.choice(team) if status not in (None, "cancelled") and stream.chance(0.85) else None
    reporter = stream.choice(world.present(slot.created_at.date()))
    if status in _DONE_STATUSES and assignee is None:
        assignee = stream.choice(team)
    worker = assignee or stream.choice(team)
    words = words_by(world, stream, {reporter.id, worker.id}, slot.created_at.date())
    ticket = TicketRow(
        key=slot.key,
        type=template["type"],
        title=words.fill(template["title"]),
        description=words.fill(stream.choice(template["texts"])),
        status=status,
        priority=None if status is None else stream.weighted(_PRIORITIES),
        assignee_id=assignee.id if assignee else None,
        reporter_id=reporter.id,
        team_id=team_id,
        tags=list(template["tags"]),
        created_at=slot.created_at,
        updated_at=slot.created_at,
        due_at=_draw_due_time(world, stream, slot.created_at),
    )
    if status in ("closed", "cancelled"):
        ticket.reason_code = "completed" if status == "closed" else stream.choice(["duplicate", "withdrawn"])
        ticket.reason_ref = assignee.id if assignee else reporter.id
    world.ticketdesk.tickets.append(ticket)
    add_history(world, stream, ticket, worker.id)
    steps = template["steps"]
    add_checklist(world, ticket, steps, done=_draw_done(stream, status, len(steps)), by=worker.id, at=ticket.updated_at)
    _draw_verification(stream, ticket, worker.id)
    _draw_comments(world, stream, ticket, worker.id)
    return ticket


def _draw_done(stream: Stream, status: Status | None, count: int) -> int:
    """Draw the number of completed checklist steps of a ticket in that status."""
    if status in _DONE_STATUSES or not count:
        return count
    if status == "in_review":
        return max(1, count - stream.integer(0, 1))
    return stream.integer(1, max(1, count - 1)) if status == "in_progress" and count > 1 else 0


def words_by(
    world: WorldBuilder, stream: Stream, author_ids: Collection[str], day: date, known_text: str = ""
) -> TextTemplate:
    """Return the slots of a text by these authors on that day.

    `person` is neither one of the authors nor anyone named in `known_text`.
    """

    def draw_person(own: Stream) -> str:
        active = world.staff.active()
        return own.choice([one.name for one in active if one.id not in author_ids and one.name not in known_text])

    sources = {
        "person": draw_person,
        "month": lambda own: _MONTHS[(day.month + own.integer(0, 2)) % 12],
        "past_month": lambda own: _MONTHS[(day.month - 3 - own.integer(0, 2)) % 12],
    }
    return TextTemplate(stream, {**world.slot_sources(), **sources})


def _draw_due_time(world: WorldBuilder, stream: Stream, created_at: datetime) -> datetime | None:
    """Draw a due time around the start, at least one working day after the ticket's creation, or None."""
    due_on = working_days_from(world.today, stream.integer(-10, 25))
    earliest = working_days_from(created_at.date(), stream.integer(1, 5))
    return closing_time(max(due_on, earliest)) if stream.chance(0.6) else None


def number_rows(world: WorldBuilder) -> None:
    """Sort the rows, and number comments, links, transitions and checklist items as TicketDesk would."""
    ticketdesk = world.ticketdesk
    ticketdesk.comments.sort(key=lambda row: (row.created_at, row.ticket_key))
    ticketdesk.transitions.sort(key=lambda row: (row.at, row.ticket_key))
    ticketdesk.links.sort(key=lambda row: (row.created_at, row.from_key))
    ticketdesk.tickets.sort(key=lambda row: (row.created_at, row.key))
    ticketdesk.checklist_items.sort(key=lambda row: (*_key_order(row.ticket_key), row.position))
    for name, rows in (
        ("comment", ticketdesk.comments),
        ("transition", ticketdesk.transitions),
        ("link", ticketdesk.links),
    ):
        for count, row in enumerate(rows, start=world.last_number(name) + 1):
            row.id = f"{name}-{count}"  # type: ignore[attr-defined]
    for count, item in enumerate(ticketdesk.checklist_items, start=world.last_number("item") + 1):
        item.id = f"item-{count}"


def _key_order(key: str) -> tuple[str, int]:
    """Return a sort key that orders ticket keys of a team by their numbers."""
    prefix, _, number = key.rpartition("-")
    return prefix, int(number)


def add_checklist(
    world: WorldBuilder, ticket: TicketRow, steps: Sequence[str], *, done: int, by: str, at: datetime
) -> None:
    """Add a checklist whose first `done` items are done."""
    for position, text in enumerate(steps):
        is_done = position < done
        world.ticketdesk.checklist_items.append(
            ChecklistRow(
                id="",
                ticket_key=ticket.key,
                position=position,
                text=text,
                done_at=at if is_done else None,
                done_by=by if is_done else None,
            )
        )


def add_history(world: WorldBuilder, stream: Stream, ticket: TicketRow, by: str) -> None:
    """Add the transitions that led a ticket to its status, with the reason of the last one."""
    before: Status | None = None
    path = _STATUS_PATHS[ticket.status]
    latest = min(ticket.created_at + len(path) * LONGEST_STEP, world.latest_after(ticket.created_at))
    moments = draw_office_moments(stream, ticket.created_at, latest, len(path))
    for status, moment in zip(path, moments, strict=True):
        is_last = status == ticket.status
        world.ticketdesk.transitions.append(
            TransitionRow(
                id="",
                ticket_key=ticket.key,
                at=moment,
                by=by,
                from_status=before,
                to_status=status,
                reason_code=ticket.reason_code if is_last else None,
                reason_ref=ticket.reason_ref if is_last else None,
            )
        )
        before = status
    ticket.updated_at = max([ticket.updated_at, *moments])
    ticket.version = 1 + len(path)


def add_comment(world: WorldBuilder, ticket: TicketRow, *, author_id: str, at: datetime, body: str) -> None:
    """Add a comment."""
    world.ticketdesk.comments.append(
        CommentRow(id="", ticket_key=ticket.key, author_id=author_id, created_at=at, body=body)
    )


def add_later_comment(world: WorldBuilder, stream: Stream, ticket: TicketRow, *, author_id: str, body: str) -> None:
    """Add a comment dated between the last change of a ticket and the start."""
    [at] = draw_office_moments(stream, ticket.updated_at, world.latest_after(ticket.updated_at))
    add_comment(world, ticket, author_id=author_id, at=at, body=body)


def _draw_key_slots(
    stream: Stream, world: WorldBuilder, prefix: str, count: int
) -> tuple[list[KeySlot], list[KeySlot]]:
    """Draw ascending ticket keys with creation times; return those of a team's tickets and those that stay free."""
    ages = [((1, OLDEST_DAYS * 5 // 7), False)] * count + [(FREE_SLOT_WORKING_DAYS, True)] * FREE_SLOTS
    moments = sorted(
        (draw_office_time(stream, working_days_from(world.today, -stream.integer(*days))), is_free)
        for days, is_free in ages
    )
    key = stream.integer(210, 1900)
    used: list[KeySlot] = []
    free: list[KeySlot] = []
    for moment, is_free in moments:
        key += stream.integer(1, 3)
        (free if is_free else used).append(KeySlot(f"{prefix}-{key}", moment))
    return used, free


def _draw_verification(stream: Stream, ticket: TicketRow, by: str) -> None:
    is_ready = ticket.status in _DONE_STATUSES and ticket.priority is not None and ticket.assignee_id is not None
    if is_ready and stream.chance(0.4):
        ticket.verified_at, ticket.verified_by = ticket.updated_at, by


def _draw_comments(world: WorldBuilder, stream: Stream, ticket: TicketRow, worker_id: str) -> None:
    """Draw comments by the person who works on the ticket and by its reporter, in this order; either may be missing."""
    comments, group = pool("tickets")["comments"], _COMMENT_GROUPS.get(ticket.status, ticket.status)
    lines = [(worker_id, stream.choice(comments["worker"][group]))]
    if ticket.reporter_id != worker_id:
        lines.append((ticket.reporter_id, stream.choice(comments["reporter"][group])))
    count = stream.integer(0, 1 if ticket.status == "cancelled" else len(lines))
    moments = draw_office_moments(stream, ticket.updated_at, world.latest_after(ticket.updated_at), count)
    known = f"{ticket.title} {ticket.description}"
    for index, moment in zip(sorted(stream.sample(range(len(lines)), count)), moments, strict=True):
        author_id, line = lines[index]
        body = words_by(world, stream, {worker_id, ticket.reporter_id}, moment.date(), known).fill(line)
        known += body
        add_comment(world, ticket, author_id=author_id, at=moment, body=body)


def _draw_links(world: WorldBuilder, stream: Stream) -> None:
    tickets = world.ticketdesk.tickets
    waiting = [ticket for ticket in tickets if ticket.status == "blocked"]
    open_tickets = [ticket for ticket in tickets if ticket.status in ("open", "in_progress", "in_review")]
    for ticket in waiting:
        _link(world, stream, stream.choice(open_tickets), ticket, "blocks")
    for _ in range(stream.integer(*LINKS) - len(waiting)):
        one, other = stream.choice(tickets), stream.choice(tickets)
        if one is not other:
            _link(world, stream, one, other, "relates_to")


def _link(world: WorldBuilder, stream: Stream, one: TicketRow, other: TicketRow, kind: Any) -> None:
    made_at = max(one.created_at, other.created_at)
    world.ticketdesk.links.append(
        LinkRow(
            id="",
            kind=kind,
            from_key=one.key,
            to_key=other.key,
            created_at=made_at,
            created_by=stream.choice((one, other)).reporter_id,
        )
    )
