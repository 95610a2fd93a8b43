"""The tickets of an incident: changes of which one is the cause, reports that came in twice, and another incident."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.rubrics.ticket_goals import TicketGoal
from companyos_gateway.scenarios.incident_response.case import Ground, Shape
from companyos_gateway.scenarios.incident_response.outage import Outage, texts
from companyos_gateway.scenarios.parts.entry import WAIT_MINUTES
from companyos_gateway.scenarios.parts.numbers import late_slots
from companyos_gateway.world.backlog import add_comment, add_history
from companyos_gateway.world.calendar import closing_of, working_days_from
from companyos_gateway.world.documents.ticketdesk import DeskHappening, Status, TicketRow
from companyos_gateway.world.draft import Slot, World
from companyos_shared.streams import Stream

TEAM = "platform"
TAGS = ("incident", "production")
MOST_REPORTS = 8
CHANGES = 4


@dataclass(frozen=True, kw_only=True)
class Reports:
    """The tickets around the incident."""

    cause: TicketRow
    cause_free_at: datetime
    doubles: tuple[TicketRow, ...]
    known: TicketRow
    look_alike: TicketRow | None

    def goals(self, outage: Outage, key: str) -> tuple[TicketGoal, ...]:
        """Return how the reports must end: merged into the incident's own ticket, unless it is refused."""
        if outage.ground is not None:
            return ()
        return tuple(TicketGoal(key=double.key, original=key) for double in self.doubles)


def add_reports(world: World, stream: Stream, outage: Outage, kinds: Collection[Kind]) -> Reports:
    """Add the tickets, and leave two late numbers of the team to the incident's own ticket and who else asks."""
    slots = late_slots(world, stream, TEAM, CHANGES + MOST_REPORTS + 2)
    cause, free_at = _add_changes(world, stream, outage, slots[:CHANGES])
    world.ticket_slots[TEAM] += slots[CHANGES : CHANGES + 2]
    late = iter(slots[CHANGES + 2 :])
    known = _report(world, stream, _known(outage), next(late), status="in_progress")
    doubles = tuple(
        _report(world, stream, outage, next(late), status=stream.choice((None, "open")))
        for _ in range(stream.integer(2, 3))
    )
    look_alikes = [_report(world, stream, other, next(late), status=None) for other in _others(outage, kinds)]
    return Reports(
        cause=cause,
        cause_free_at=free_at,
        doubles=doubles,
        known=known,
        look_alike=look_alikes[-1] if Kind.SIMILAR_NAMES in kinds else None,
    )


def _known(outage: Outage) -> Outage:
    """Return what the incident is about that somebody works on."""
    if outage.ground is Ground.KNOWN:
        return outage
    return replace(outage, service=outage.others[0])


def _others(outage: Outage, kinds: Collection[Kind]) -> Iterator[Outage]:
    """Yield what reports are about that are none of this incident."""
    yield replace(outage, service=outage.others[1], release=outage.other_release)
    if Kind.SIMILAR_NAMES in kinds:
        yield replace(outage, release=outage.other_release)
        yield replace(outage, service=outage.others[2])


def _report(world: World, stream: Stream, outage: Outage, slot: Slot, *, status: Status | None) -> TicketRow:
    words = texts()
    people = [one for one in world.staff.active() if one.id != world.agent_id]
    ticket = TicketRow(
        key=slot.key,
        type="incident",
        title=stream.choice(words["report_titles"]).format(service=outage.service),
        description=words_of(world, stream, outage),
        status=status,
        priority=stream.choice(("medium", "high")) if status else None,
        assignee_id=stream.choice(world.staff.active(TEAM)).id if status == "in_progress" else None,
        reporter_id=stream.choice(people).id,
        team_id=TEAM,
        tags=list(TAGS),
        created_at=slot.created_at,
        updated_at=slot.created_at,
        due_at=closing_of(working_days_from(world.today, stream.integer(6, 9))),
    )
    world.desk.tickets.append(ticket)
    add_history(world, stream, ticket, ticket.assignee_id or ticket.reporter_id)
    return ticket


def words_of(world: World, stream: Stream, outage: Outage) -> str:
    """Return what somebody writes about an outage."""
    words = texts()["citations"]["below" if outage.shape is Shape.UPSTREAM else "own"]
    text: str = stream.choice(words)
    person = stream.choice(world.staff.active()).name
    return text.format(service=outage.service, release=outage.release, person=person)


def _add_changes(world: World, stream: Stream, outage: Outage, slots: list[Slot]) -> tuple[TicketRow, datetime]:
    """Add changes that were rolled out lately; return the cause, and when a colleague has taken it back."""
    release, earlier, changed = outage.release, outage.other_release, outage.changed
    untouched = outage.service if outage.shape is Shape.UPSTREAM else outage.below
    rolled_out = stream.shuffled([(changed, release), (changed, earlier), (outage.others[0], release)])
    rolled_out.insert(stream.integer(0, len(rolled_out)), (untouched, earlier))
    tickets = {}
    for (service, number), slot in zip(rolled_out, slots, strict=True):
        tickets[service, number] = _change(world, stream, service, number, slot)
    cause = tickets[changed, release]
    words: dict[str, Any] = texts()["changes"]
    is_ours = outage.shape is not Shape.HOTFIX
    cause.status = "in_review" if is_ours else "in_progress"
    for ticket in tickets.values():
        add_history(world, stream, ticket, ticket.assignee_id or ticket.reporter_id)
    comment = words["ours" if is_ours else "theirs"]
    assert cause.assignee_id is not None
    add_comment(world, cause, author_id=cause.assignee_id, at=cause.updated_at, body=comment)
    return cause, world.started_at if is_ours else _plan_repair(world, stream, cause)


def _change(world: World, stream: Stream, service: str, release: str, slot: Slot) -> TicketRow:
    words = texts()["changes"]
    fill = {"service": service, "release": release}
    ticket = TicketRow(
        key=slot.key,
        type="change",
        title=stream.choice(words["titles"]).format(**fill),
        description=stream.choice(words["texts"]).format(**fill),
        status="in_review",
        priority="medium",
        assignee_id=stream.choice([one for one in world.staff.active(TEAM) if one.id != world.agent_id]).id,
        reporter_id=stream.choice(world.staff.active(TEAM)).id,
        team_id=TEAM,
        tags=["release"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.desk.tickets.append(ticket)
    return ticket


def _plan_repair(world: World, stream: Stream, cause: TicketRow) -> datetime:
    """Let the one who rolled it out take the change back; return when."""
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*WAIT_MINUTES))
    data = {"id": "transition-by-owner", "ticket_key": cause.key, "by": cause.assignee_id, "to_status": "resolved"}
    world.desk.happenings.append(DeskHappening(due_at=due_at, kind="transition", data=data))
    return due_at
