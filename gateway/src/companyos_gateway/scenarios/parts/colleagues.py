"""Colleagues at work: what they write, open and change while the agent works, as happenings of TicketDesk.

They are planned once the rows of the start are numbered: what comes later has later numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.scenarios.parts.rulebook import LADDER
from companyos_gateway.world.documents.ticketdesk import DeskHappening
from companyos_gateway.world.documents.writing import moment
from companyos_gateway.world.draft import World
from companyos_gateway.world.pools import pool
from companyos_gateway.world.wording import Wording
from companyos_shared.streams import Stream

COMMENTS = (2, 4)
NEW_TICKETS = (2, 4)
SOON_MINUTES = (20, 900)
"""Office minutes until something is written or opened."""

MEDDLING_MINUTES = (45, 420)
"""Office minutes until somebody puts the task's own ticket on hold: after it is triaged, before most decisions."""

URGENCY_MINUTES = (20, 60)
"""Office minutes from which on somebody changes its priority, once it is verified: before any work is done."""


@dataclass(frozen=True)
class Happened:
    """What will happen: the row it is about, and when."""

    entity: str
    detail: dict[str, str] = field(default_factory=dict)


def add_happenings(world: World, stream: Stream, case: DeskCase, kind: Kind) -> Happened:
    """Plan what colleagues do, by the kind of event."""
    return _EVENTS[kind](world, stream, case)


def _comment(world: World, stream: Stream, case: DeskCase) -> Happened:
    times = sorted(_later(world, stream, SOON_MINUTES) for _ in range(stream.integer(*COMMENTS)))
    for at in times:
        _write(world, stream, case.ticket_key, "chatter", at)
    return Happened(case.ticket_key, {"at": ", ".join(map(moment, times))})


def _open_tickets(world: World, stream: Stream, case: DeskCase) -> Happened:
    templates = pool("tickets")["ticket"]
    keys = []
    for n in range(stream.integer(*NEW_TICKETS)):
        own = stream.child(n)
        template = own.choice([one for one in templates if case.team_id in one["teams"]] if n == 0 else templates)
        team_id = case.team_id if n == 0 else own.choice(template["teams"])
        words = Wording(own, world.slots())
        data = {
            "key": _next_key(world, team_id),
            "type": template["type"],
            "title": words.fill(template["title"]),
            "description": words.fill(own.choice(template["texts"])),
            "reporter_id": own.choice(world.staff.active()).id,
            "team_id": team_id,
            "tags": list(template["tags"]),
        }
        _plan(world, "ticket", _later(world, own, SOON_MINUTES), data)
        keys.append(data["key"])
    return Happened(keys[0], {"tickets": ", ".join(keys)})


def _put_on_hold(world: World, stream: Stream, case: DeskCase) -> Happened:
    at = _later(world, stream, MEDDLING_MINUTES)
    by = _write(world, stream, case.ticket_key, "on_hold", at)
    number = len(world.desk.transitions) + 1
    data = {"id": f"transition-{number}", "ticket_key": case.ticket_key, "by": by, "to_status": "blocked"}
    _plan(world, "transition", at, data)
    return Happened(case.ticket_key, {"at": moment(at)})


def _change_priority(world: World, stream: Stream, case: DeskCase) -> Happened:
    """Let a colleague give the ticket another priority once it has its own: nobody may end it as they left it."""
    at, key = _later(world, stream, URGENCY_MINUTES), case.ticket_key
    _write(world, stream, key, "urgency", at, once_verified=key)
    priority = stream.choice([level for level in LADDER if level != case.priority])
    _plan(world, "change", at, {"ticket_key": key, "priority": priority}, once_verified=key)
    return Happened(key, {"from": moment(at), "priority": priority})


def _write(
    world: World, stream: Stream, key: str, about: str, at: datetime, *, once_verified: str | None = None
) -> str:
    """Let a colleague write under a ticket; return who."""
    author = stream.choice([one for one in world.staff.active() if one.id != world.agent_id])
    text: str = stream.choice(_texts()[about])
    number = len(world.desk.comments) + sum(one.kind == "comment" for one in world.desk.happenings) + 1
    body = text.format(person=stream.choice(world.staff.active()).name, key=key)
    data = {"id": f"comment-{number}", "ticket_key": key, "author_id": author.id, "body": body}
    _plan(world, "comment", at, data, once_verified=once_verified)
    return author.id


def _plan(world: World, kind: Any, at: datetime, data: dict[str, Any], *, once_verified: str | None = None) -> None:
    world.desk.happenings.append(DeskHappening(due_at=at, kind=kind, data=data, once_verified=once_verified))


def _later(world: World, stream: Stream, minutes: tuple[int, int]) -> datetime:
    """Draw a moment of the next office hours, not that of anything else that is planned."""
    at = world.company().add_office_minutes(world.started_at, stream.integer(*minutes))
    while any(one.due_at == at for one in world.desk.happenings):
        at += timedelta(minutes=1)
    return at


def _next_key(world: World, team_id: str) -> str:
    prefix = f"{world.desk.team_prefixes[team_id]}-"
    known: list[str] = [row.key for row in world.desk.tickets]
    known += [one.data["key"] for one in world.desk.happenings if one.kind == "ticket"]
    numbers = [int(key.removeprefix(prefix)) for key in known if key.startswith(prefix)]
    return f"{prefix}{max(numbers) + 1}"


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


_EVENTS: dict[Kind, Callable[[World, Stream, DeskCase], Happened]] = {
    Kind.COLLEAGUE_COMMENTS: _comment,
    Kind.NEW_TICKETS: _open_tickets,
    Kind.PUT_ON_HOLD: _put_on_hold,
    Kind.PRIORITY_CHANGED: _change_priority,
}
