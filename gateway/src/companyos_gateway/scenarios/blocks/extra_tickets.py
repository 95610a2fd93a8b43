"""Distractors: other people's tickets in the same team that look more urgent than the task's own."""

from __future__ import annotations

from datetime import datetime, timedelta

from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.world.backlog import draw_templates, draw_ticket
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import closing_time, draw_office_moments, working_days_from
from companyos_shared.streams import Stream

TICKET_COUNT = (3, 6)


def add_distractors(world: WorldBuilder, stream: Stream, case: TicketCase) -> list[str]:
    """Add recent tickets of the team that are due soon and marked as urgent; return their keys."""
    slots = new_key_slots(world, stream, case.team_id, stream.integer(*TICKET_COUNT))
    for slot, template in zip(slots, draw_templates(stream, case.team_id, len(slots)), strict=True):
        own = stream.child(slot.key)
        ticket = draw_ticket(world, own, case.team_id, slot, template, status="open")
        ticket.priority = own.choice(["high", "critical"])
        ticket.due_at = closing_time(working_days_from(world.today, own.integer(0, 2)))
    return [slot.key for slot in slots]


def new_key_slots(world: WorldBuilder, stream: Stream, team_id: str, count: int) -> list[KeySlot]:
    """Return keys after the last one of a team, created on the last working day."""
    prefix = f"{world.ticketdesk.team_prefixes[team_id]}-"
    last = max(int(one.key.removeprefix(prefix)) for one in world.ticketdesk.tickets if one.key.startswith(prefix))
    newest = max(one.created_at for one in world.ticketdesk.tickets if one.key.startswith(prefix))
    first = max(newest, closing_time(working_days_from(world.today, -2)))
    slots = []
    for moment in draw_office_moments(stream, first, world.last_evening, count):
        last += stream.integer(1, 3)
        slots.append(KeySlot(f"{prefix}{last}", moment))
    return slots


MIN_AGE = timedelta(minutes=20)
"""Minimum age of recent tickets at the start."""

MAX_WORKING_DAYS = 3
"""Maximum age of recent tickets at the start, in working days."""


def recent_key_slots(
    world: WorldBuilder,
    stream: Stream,
    team_id: str,
    count: int,
    *,
    after: datetime | None = None,
    before: datetime | None = None,
) -> list[KeySlot]:
    """Return keys after the last one of a team, oldest first, created in the last days, by default up to the start."""
    known_keys = [(ticket.key, ticket.created_at) for ticket in world.ticketdesk.tickets if ticket.team_id == team_id]
    known_keys += [(slot.key, slot.created_at) for slot in world.ticket_slots[team_id]]
    last_key, last_at = max(known_keys, key=lambda one: _number(one[0]))
    since = max(last_at, closing_time(working_days_from(world.today, -MAX_WORKING_DAYS)))
    since = max(since, after or since)
    prefix, number = last_key.rpartition("-")[0], _number(last_key)
    slots = []
    for moment in draw_office_moments(stream, since, before or world.started_at - MIN_AGE, count):
        number += stream.integer(1, 2)
        slots.append(KeySlot(f"{prefix}-{number}", moment))
    return slots


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])
