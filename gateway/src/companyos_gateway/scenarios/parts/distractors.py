"""Distractors: other people's tickets in the same team that look more urgent than the task's own."""

from __future__ import annotations

from datetime import timedelta

from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.world.backlog import draw_ticket
from companyos_gateway.world.calendar import closing_of, into_office, working_days_from
from companyos_gateway.world.draft import Slot, World
from companyos_gateway.world.pools import pool
from companyos_shared.streams import Stream

TICKETS = (3, 6)


def add_distractors(world: World, stream: Stream, case: DeskCase) -> list[str]:
    """Add tickets of the team's last days that are due soon and marked as urgent; return their keys."""
    templates = [one for one in pool("tickets")["ticket"] if case.team_id in one["teams"]]
    slots = fresh_slots(world, stream, case.team_id, stream.integer(*TICKETS))
    for slot in slots:
        own = stream.child(slot.key)
        ticket = draw_ticket(world, own, case.team_id, slot, own.choice(templates), status="open")
        ticket.priority = own.choice(["high", "critical"])
        ticket.due_at = closing_of(working_days_from(world.today, own.integer(0, 2)))
    return [slot.key for slot in slots]


def fresh_slots(world: World, stream: Stream, team_id: str, count: int) -> list[Slot]:
    """Return numbers after the last of a team, with moments of its last working day."""
    prefix = f"{world.desk.team_prefixes[team_id]}-"
    last = max(int(one.key.removeprefix(prefix)) for one in world.desk.tickets if one.key.startswith(prefix))
    newest = max(one.created_at for one in world.desk.tickets if one.key.startswith(prefix))
    first = max(newest, closing_of(working_days_from(world.today, -2)))
    minutes = int((world.started_at - timedelta(minutes=30) - first).total_seconds()) // 60
    moments = sorted(into_office(first + timedelta(minutes=stream.integer(1, max(2, minutes)))) for _ in range(count))
    slots = []
    for moment in moments:
        last += stream.integer(1, 3)
        slots.append(Slot(f"{prefix}{last}", min(moment, world.started_at - timedelta(minutes=20))))
    return slots
