"""Numbers of tickets that came in last: a team's sequence goes on until the story starts."""

from __future__ import annotations

from datetime import timedelta

from companyos_gateway.world.draft import Slot, World
from companyos_shared.streams import Stream

LATEST_MINUTES = 5
"""How long before the story starts the last of them may have come in."""

LONGEST = timedelta(days=3)
"""How long before it the first may have."""


def late_slots(world: World, stream: Stream, team_id: str, count: int) -> list[Slot]:
    """Return numbers after the last one of a team, oldest first, given in the last days."""
    given = [(ticket.key, ticket.created_at) for ticket in world.desk.tickets if ticket.team_id == team_id]
    given += [(slot.key, slot.created_at) for slot in world.ticket_slots[team_id]]
    last_key, last_at = max(given, key=lambda one: _number(one[0]))
    since = max(last_at, world.started_at - LONGEST)
    minutes = int((world.started_at - since).total_seconds()) // 60 - LATEST_MINUTES
    prefix, number = last_key.rpartition("-")[0], _number(last_key)
    slots = []
    for offset in sorted(stream.distinct(1, minutes - 1, count)):
        number += stream.integer(1, 2)
        slots.append(Slot(f"{prefix}-{number}", since + timedelta(minutes=offset)))
    return slots


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])
