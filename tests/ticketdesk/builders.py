"""Builders with defaults: a company of six people, and tickets as rows of a seed document or values for rules."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from companyos_shared.wire.company import Absence, AbsenceKind, Company, Person, Team
from companyos_ticketdesk.links.model import Link, LinkKind
from companyos_ticketdesk.seed import Seed
from companyos_ticketdesk.tickets.model import Status, Ticket, TicketType

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BEFORE = datetime(2026, 2, 20, 10, 0, tzinfo=UTC)

OPS, FINANCE = "ops", "finance"
AGENT, EVA, AWAY, DEPARTED, STARTS_LATER, ACCOUNTANT = "p-agent", "p-eva", "p-away", "p-departed", "p-later", "p-acc"


def a_person(person_id: str, team_id: str = OPS, **fields: Any) -> Person:
    named = {"name": person_id, "email": f"{person_id}@corp.example", "title": "Clerk", "team_id": team_id}
    return Person.model_validate({"id": person_id, "employed_from": date(2020, 1, 1), **named, **fields})


def a_company() -> Company:
    away = {"first_day": date(2026, 3, 2), "last_day": date(2026, 3, 10), "kind": AbsenceKind.VACATION}
    return Company(
        name="Corp",
        domain="corp.example",
        agent_id=AGENT,
        teams=(
            Team(id=OPS, name="Operations", department="Logistics", lead_id=AGENT),
            Team(id=FINANCE, name="Finance", department="Administration", lead_id=ACCOUNTANT),
        ),
        people=(
            a_person(AGENT),
            a_person(EVA),
            a_person(AWAY),
            a_person(DEPARTED, employed_to=date(2026, 1, 31)),
            a_person(STARTS_LATER, employed_from=date(2026, 4, 1)),
            a_person(ACCOUNTANT, FINANCE),
        ),
        absences=(Absence.model_validate({"id": "absence-1", "person_id": AWAY, **away}),),
    )


def a_row(key: str = "OPS-1", **fields: Any) -> dict[str, Any]:
    """Return a ticket as a row of a seed document: open, with priority and assignee."""
    return {
        "key": key,
        "type": "task",
        "title": f"Work on {key}",
        "description": "Something has to be done.",
        "status": "open",
        "priority": "medium",
        "assignee_id": EVA,
        "reporter_id": ACCOUNTANT,
        "team_id": OPS,
        "created_at": BEFORE,
        "updated_at": BEFORE,
        **fields,
    }


def a_seed(*tickets: dict[str, Any], **lists: Any) -> Seed:
    document = {
        "company": a_company(),
        "draw_seed": "test",
        "started_at": NOW,
        "team_prefixes": {OPS: "OPS", FINANCE: "FIN"},
        "tickets": list(tickets),
        **lists,
    }
    return Seed.model_validate(document)


def a_link_row(link_id: str, kind: str, from_key: str, to_key: str) -> dict[str, Any]:
    made = {"created_at": BEFORE, "created_by": EVA}
    return {"id": link_id, "kind": kind, "from_key": from_key, "to_key": to_key, **made}


def an_item_row(item_id: str, key: str = "OPS-1", *, done: bool = False) -> dict[str, Any]:
    done_by = {"done_at": BEFORE, "done_by": EVA} if done else {}
    return {"id": item_id, "ticket_key": key, "position": 1, "text": "Look at it", **done_by}


def a_ticket(**fields: Any) -> Ticket:
    """Return a ticket as a value for the rules."""
    defaults: dict[str, Any] = {
        "key": "OPS-1",
        "type": TicketType.TASK,
        "title": "Work",
        "description": "",
        "status": Status.OPEN,
        "priority": None,
        "assignee_id": None,
        "reporter_id": EVA,
        "team_id": OPS,
        "tags": (),
        "created_at": BEFORE,
        "updated_at": BEFORE,
        "due_at": None,
        "verified_at": None,
        "verified_by": None,
        "approval_ref": None,
        "reason_code": None,
        "reason_ref": None,
        "version": 1,
    }
    return Ticket(**defaults | fields)


def a_link(kind: LinkKind, from_key: str, to_key: str) -> Link:
    return Link(id="link-1", kind=kind, from_key=from_key, to_key=to_key, created_at=BEFORE, created_by=EVA)
