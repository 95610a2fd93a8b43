"""Adjusts absences to past and scheduled actions, so that no one acts while absent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from companyos_gateway.world.builder import WorldBuilder


def shorten_absences(world: WorldBuilder) -> None:
    """Let each absence start after the person's last action in it; remove it if no day is left.

    Actions are those in the rows before today and those of scheduled events.
    """
    days: dict[str | None, set[date]] = defaultdict(set)
    absent_ids = {absence.person_id for absence in world.absences}
    for person_id, at in _acts(world):
        if person_id in absent_ids and at is not None and at.date() < world.today:
            days[person_id].add(at.date())
    for event in world.ticketdesk.scheduled_events:
        days[event.data.get("by")].add(event.due_at.date())
    absences = []
    for absence in world.absences:
        acted = [day for day in days[absence.person_id] if absence.first_day <= day <= absence.last_day]
        first_day = max(acted) + timedelta(days=1) if acted else absence.first_day
        if first_day <= absence.last_day:
            absences.append(absence.model_copy(update={"first_day": first_day}))
    world.absences = sorted(absences, key=lambda absence: (absence.first_day, absence.person_id))


def acts_while_away(world: WorldBuilder) -> bool:
    """Return whether anyone who is absent today has acted today."""
    acted = {person_id for person_id, at in _acts(world) if at is not None and at.date() == world.today}
    return any(one.person_id in acted and one.first_day <= world.today <= one.last_day for one in world.absences)


def _acts(world: WorldBuilder) -> Iterator[tuple[str | None, datetime | None]]:
    """Yield the actor and the time of each action in the rows."""
    ticketdesk, datahub, approvalflow = world.ticketdesk, world.datahub, world.approvalflow
    yield from ((row.reporter_id, row.created_at) for row in ticketdesk.tickets)
    yield from ((row.verified_by, row.verified_at) for row in ticketdesk.tickets)
    yield from ((row.by, row.at) for row in ticketdesk.transitions)
    yield from ((row.author_id, row.created_at) for row in ticketdesk.comments)
    yield from ((row.done_by, row.done_at) for row in ticketdesk.checklist_items)
    yield from ((row.created_by, row.created_at) for row in ticketdesk.links)
    yield from ((row.requested_by, row.requested_at) for row in datahub.refresh_jobs)
    yield from ((row.reported_by, row.reported_at) for row in datahub.data_issues)
    yield from ((row.owner_id, row.created_at) for row in datahub.records if row.kind == "expense")
    yield from ((row.requester_id, row.submitted_at) for row in approvalflow.requests)
    yield from ((row.by, row.at) for row in approvalflow.decisions)
    yield from ((row.author_id, row.at) for row in approvalflow.notes)
