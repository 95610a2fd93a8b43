"""Events by colleagues during an episode: comments, new tickets and changes, scheduled in TicketDesk.

They are planned after the initial rows have been numbered, so that later rows have higher numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES
from companyos_gateway.world.backlog import add_comment, words_by
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_moments, format_time
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.ticketdesk import AnswerRow, TicketDeskEvent, TicketRow
from companyos_shared.streams import Stream

COMMENTS = (2, 4)
NEW_TICKETS = (2, 4)
EVENT_MINUTES = (20, 900)
"""Range of office minutes until a colleague writes a comment or opens a ticket."""

HOLD_MINUTES = (45, 420)
"""Range of office minutes until a colleague puts the task's ticket on hold: after triage, before most decisions."""

EXPLANATION_MINUTES = 3
"""Office minutes until that colleague explains it."""

URGENCY_MINUTES = (20, 60)
"""Range of office minutes after which a colleague changes a verified ticket's priority: before any work is done."""

REMARK_MINUTES, HANDOVER_MINUTES, PRIORITY_MINUTES = (20, 110), (180, 960), (480, 960)
"""Ranges of office minutes until a colleague comments on a queue's ticket, hands one over or changes a priority."""


@dataclass(frozen=True)
class PlannedEvent:
    """A planned event: the row that it affects and details such as its time."""

    entity: str
    detail: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedComment:
    """A comment that a colleague will write."""

    id: str
    author_id: str
    at: datetime


def add_colleague_events(world: WorldBuilder, stream: Stream, case: TicketCase, kind: Kind) -> PlannedEvent:
    """Plan the events of that kind."""
    return _EVENTS[kind](world, stream, case)


def plan_handover(world: WorldBuilder, stream: Stream, ticket: TicketRow, tag: str) -> datetime:
    """Plan that a colleague hands a ticket over to a queue by adding a tag; return the time."""
    at = _draw_time(world, stream, HANDOVER_MINUTES)
    team = [one.id for one in world.present(at.date(), team_id=ticket.team_id)]
    authors = [one for one in team if one != world.agent_id] or team
    _plan_comment(world, stream, ticket.key, stream.choice(_texts()["handovers"]), at, authors=authors)
    _schedule(world, "change", at, {"ticket_key": ticket.key, "tags": [*ticket.tags, tag]})
    return at


def keep_ticket(world: WorldBuilder, stream: Stream, ticket: TicketRow) -> None:
    """Add a comment in which a member of the ticket's team says that the team keeps it."""
    [at] = draw_office_moments(stream, ticket.updated_at, world.latest_after(ticket.updated_at))
    author = stream.choice(world.present(at.date(), team_id=ticket.team_id))
    add_comment(world, ticket, author_id=author.id, at=at, body=stream.choice(_texts()["kept"]))


def plan_remark(
    world: WorldBuilder,
    stream: Stream,
    ticket: TicketRow,
    kind: str,
    *,
    without: Collection[str] = (),
    authors: Sequence[str] = (),
    minutes: tuple[int, int] = REMARK_MINUTES,
    **slots: str,
) -> PlannedComment:
    """Plan a comment by one of the authors: by default, by a member of the ticket's team before any handover."""
    at = _draw_time(world, stream, minutes)
    team = [one.id for one in world.present(at.date(), team_id=ticket.team_id)]
    authors = authors or [one for one in team if one not in (world.agent_id, *without)] or team
    return _plan_comment(world, stream, ticket.key, stream.choice(_texts()[kind]), at, authors=authors, **slots)


def plan_priority(world: WorldBuilder, stream: Stream, ticket: TicketRow, right: str) -> datetime:
    """Plan that a colleague announces and sets a wrong priority once the ticket is verified.

    Return the earliest time at which this happens.
    """
    at, _ = _plan_priority(world, stream, ticket.key, right, PRIORITY_MINUTES)
    return at


def plan_answer(world: WorldBuilder, stream: Stream, ticket: TicketRow, by: str, kind: str, **slots: str) -> None:
    """Add the answer that a person gives under a ticket when mentioned there."""
    answers = world.ticketdesk.answers
    body = stream.choice(_texts()[kind]).format(**slots)
    answers.append(AnswerRow(id=f"answer-{len(answers) + 1}", person_id=by, ticket_key=ticket.key, body=body))


def _comment(world: WorldBuilder, stream: Stream, case: TicketCase) -> PlannedEvent:
    times = sorted(_draw_time(world, stream, EVENT_MINUTES) for _ in range(stream.integer(*COMMENTS)))
    for at, text in zip(times, stream.sample(_texts()["chatter"], len(times)), strict=True):
        _plan_comment(world, stream, case.ticket_key, text, at)
    return PlannedEvent(case.ticket_key, {"at": ", ".join(map(format_time, times))})


def _open_tickets(world: WorldBuilder, stream: Stream, case: TicketCase) -> PlannedEvent:
    templates = pool("tickets")["ticket"]
    keys = []
    for n in range(stream.integer(*NEW_TICKETS)):
        own = stream.child(n)
        template = own.choice([one for one in templates if case.team_id in one["teams"]] if n == 0 else templates)
        team_id = case.team_id if n == 0 else own.choice(template["teams"])
        at = _draw_time(world, own, EVENT_MINUTES)
        reporter_id = own.choice(_colleagues_present(world, at))
        words = words_by(world, own, {reporter_id}, at.date())
        data = {
            "key": _next_key(world, team_id),
            "type": template["type"],
            "title": words.fill(template["title"]),
            "description": words.fill(own.choice(template["texts"])),
            "reporter_id": reporter_id,
            "team_id": team_id,
            "tags": list(template["tags"]),
        }
        _schedule(world, "ticket", at, data)
        keys.append(data["key"])
    return PlannedEvent(keys[0], {"tickets": ", ".join(keys)})


def _put_on_hold(world: WorldBuilder, stream: Stream, case: TicketCase) -> PlannedEvent:
    """Plan that a colleague blocks the ticket by mistake and then says so, unless its status does not allow it."""
    key, number = case.ticket_key, world.last_number("transition") + len(world.ticketdesk.transitions) + 1
    transition_id = f"transition-{number}"
    while True:
        at = _draw_time(world, stream, HOLD_MINUTES)
        said_at = _first_free_time(world, world.company().add_office_minutes(at, EXPLANATION_MINUTES))
        if said_at.date() == at.date():  # the colleague is known to be present on this day only
            break
    text = stream.choice(_texts()["on_hold"])
    by = _plan_comment(world, stream, key, text, said_at, after_transition=transition_id).author_id
    data = {"id": transition_id, "ticket_key": key, "by": by, "to_status": "blocked"}
    _schedule(world, "transition", at, data)
    return PlannedEvent(key, {"at": format_time(at)})


def _change_priority(world: WorldBuilder, stream: Stream, case: TicketCase) -> PlannedEvent:
    """Plan a wrong priority once the ticket is verified; the agent has to correct it before the ticket ends."""
    at, priority = _plan_priority(world, stream, case.ticket_key, case.priority, URGENCY_MINUTES)
    return PlannedEvent(case.ticket_key, {"from": format_time(at), "priority": priority})


def _plan_priority(
    world: WorldBuilder, stream: Stream, key: str, right: str, minutes: tuple[int, int]
) -> tuple[datetime, str]:
    """Plan that a colleague announces and sets a wrong priority once the ticket is verified.

    Return the earliest time at which this happens, and the priority.
    """
    at = _draw_time(world, stream, minutes)
    _plan_comment(world, stream, key, stream.choice(_texts()["urgency"]), at, once_verified=key)
    priority = stream.choice([level for level in PRIORITIES if level != right])
    _schedule(world, "change", at, {"ticket_key": key, "priority": priority}, once_verified=key)
    return at, priority


def _plan_comment(
    world: WorldBuilder,
    stream: Stream,
    key: str,
    text: str,
    at: datetime,
    *,
    once_verified: str | None = None,
    after_transition: str | None = None,
    authors: Sequence[str] = (),
    **slots: str,
) -> PlannedComment:
    """Plan a comment by one of the authors, by default by a colleague who is not involved in the ticket; return it."""
    ticket = next(one for one in world.ticketdesk.tickets if one.key == key)
    involved = (ticket.assignee_id, ticket.reporter_id)
    colleagues = [one for one in _colleagues_present(world, at) if one not in involved]
    author_id = stream.choice(authors or colleagues)
    number = (
        world.last_number("comment")
        + len(world.ticketdesk.comments)
        + sum(one.kind == "comment" for one in world.ticketdesk.scheduled_events)
        + 1
    )
    named = [one.name for one in world.staff.active() if one.id not in (author_id, ticket.reporter_id, world.agent_id)]
    body = text.format(person=stream.choice(named), key=key, **slots)
    comment = PlannedComment(f"comment-{number}", author_id, at)
    data = {"id": comment.id, "ticket_key": key, "author_id": author_id, "body": body}
    if after_transition is not None:
        data["after_transition"] = after_transition
    _schedule(world, "comment", at, data, once_verified=once_verified)
    return comment


def _colleagues_present(world: WorldBuilder, at: datetime) -> list[str]:
    """Return the IDs of the people present at a moment, except the one whom the agent acts as."""
    return [one.id for one in world.present(at.date()) if one.id != world.agent_id]


def _schedule(
    world: WorldBuilder, kind: Any, at: datetime, data: dict[str, Any], *, once_verified: str | None = None
) -> None:
    world.ticketdesk.scheduled_events.append(
        TicketDeskEvent(due_at=at, kind=kind, data=data, once_verified=once_verified)
    )


def _draw_time(world: WorldBuilder, stream: Stream, minutes: tuple[int, int]) -> datetime:
    """Draw a time in the next office hours at which no other event is scheduled."""
    return _first_free_time(world, world.company().add_office_minutes(world.started_at, stream.integer(*minutes)))


def _first_free_time(world: WorldBuilder, at: datetime) -> datetime:
    """Return the first minute from `at` on at which no event is scheduled."""
    while any(one.due_at == at for one in world.ticketdesk.scheduled_events):
        at += timedelta(minutes=1)
    return at


def _next_key(world: WorldBuilder, team_id: str) -> str:
    prefix = f"{world.ticketdesk.team_prefixes[team_id]}-"
    known: list[str] = [row.key for row in world.ticketdesk.tickets]
    known += [one.data["key"] for one in world.ticketdesk.scheduled_events if one.kind == "ticket"]
    numbers = [int(key.removeprefix(prefix)) for key in known if key.startswith(prefix)]
    return f"{prefix}{max(numbers) + 1}"


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "colleagues.toml").read_text(encoding="utf-8"))


_EVENTS: dict[Kind, Callable[[WorldBuilder, Stream, TicketCase], PlannedEvent]] = {
    Kind.COLLEAGUE_COMMENTS: _comment,
    Kind.NEW_TICKETS: _open_tickets,
    Kind.PUT_ON_HOLD: _put_on_hold,
    Kind.PRIORITY_CHANGED: _change_priority,
}
