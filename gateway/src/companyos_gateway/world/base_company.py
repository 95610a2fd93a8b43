"""The base of a larger company: its other offices, which all tasks of that size share.

A base is drawn once per size, as one seed document per service. Tasks of that size refer to its sources, and the
services start their databases from copies of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic_core import to_json

from companyos.contract import CompanySize
from companyos_gateway.world.absences import shorten_absences
from companyos_gateway.world.approvals import draw_approvals, number_requests, remove_requests
from companyos_gateway.world.backlog import draw_backlog, number_rows
from companyos_gateway.world.builder import BaseCompany, WorldBuilder
from companyos_gateway.world.calendar import holidays_around
from companyos_gateway.world.ids import IdGenerator
from companyos_gateway.world.people import EXECUTIVE, Staff, domain_of, draw_absences, draw_company_name, draw_staff
from companyos_gateway.world.policies import draw_policies
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import draw_records
from companyos_gateway.world.seed_documents.approvalflow import DecisionRow, NoteRow
from companyos_gateway.world.seed_documents.ticketdesk import ChecklistRow, CommentRow, TransitionRow
from companyos_gateway.world.vendors import draw_vendors
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Person, Role
from companyos_shared.wire.control import source_of

OFFICES: Mapping[CompanySize, int] = MappingProxyType({CompanySize.MEDIUM: 8, CompanySize.LARGE: 80})
"""Number of offices besides the one that has the tasks, by company size. An office has about 55 people."""

STARTED_AT = datetime(2026, 9, 15, 9, 30, tzinfo=UTC)
"""Start time of all tasks in larger companies, so that they can share a base."""

TICKETS_SCALE = 4
"""Number of tickets of an office, as a multiple of the small company's: about 220."""

VENDORS = (4, 6)
"""Range of the number of vendors per office."""

FIRST_POLICY = 201
"""Number of the first policy of the first office; the company's own policies have lower numbers."""

_HEADING = re.compile(r"^([0-9]+)\. ", re.MULTILINE)
_SCOPE = (
    "This policy applies only to employees who work at the {office} office. There it replaces the company-wide policy."
)
_SITE_TITLES = {
    "Chief Executive Officer": "Site Director",
    "Chief Financial Officer": "Site Controller",
    "Chief Technology Officer": "Site Technology Manager",
}
_SITE_MANAGEMENT = "Site Management"


@cache
def find_base_company(size: CompanySize) -> BaseCompany:
    """Return the base of a company size. Drawing the large one takes seconds."""
    world = _draw_offices(Stream("base", size.value), OFFICES[size])
    documents = {
        service: {**document, "is_base": True} for service, document in world.documents(f"base-{size}").items()
    }
    ticketdesk = world.ticketdesk
    return BaseCompany(
        company_name=world.company_name,
        started_at=world.started_at,
        documents=documents,
        sources={service: source_of(service, to_json(document)) for service, document in documents.items()},
        names=_names(world),
        ids=world.ids.taken,
        last_numbers={
            "comment": len(ticketdesk.comments),
            "transition": len(ticketdesk.transitions),
            "link": len(ticketdesk.links),
            "item": len(ticketdesk.checklist_items),
        },
        requests=[(row.submitted_at, int(row.id.removeprefix("APR-"))) for row in world.approvalflow.requests],
    )


def base_document(service: str, source: str) -> Mapping[str, Any]:
    """Return the document of a base's source; raises LookupError if no base has it."""
    for base in map(find_base_company, OFFICES):
        if base.sources.get(service) == source:
            return base.documents[service]
    raise LookupError(f"no base has the source {source} of {service}")


def _names(world: WorldBuilder) -> frozenset[str]:
    """Return the names of the people and vendors."""
    return frozenset([one.name for one in world.staff.people] + [one.name for one in world.datahub.vendors])


def _draw_offices(stream: Stream, count: int) -> WorldBuilder:
    """Draw offices and merge them into one company."""
    ids, company_name = IdGenerator(stream.child("ids")), draw_company_name(stream.child("company"))
    offices = list(pool("offices")["office"].items())[:count]
    taken_names: set[str] = set()
    worlds = []
    for number, (office, code) in enumerate(offices):
        world = _draw_office(stream.child(office), office, ids, company_name, taken_names)
        taken_names |= _names(world)
        _name_teams(world, office, code)
        _limit_policies(world, office, number)
        _keep_requests(world, office)
        worlds.append(world)
    return _merge(worlds, stream.child("numbers"))


def _draw_office(
    stream: Stream, office: str, ids: IdGenerator, company_name: str, taken_names: Set[str]
) -> WorldBuilder:
    today = STARTED_AT.date()
    staff = draw_staff(stream.child("staff"), ids, today=today, domain=domain_of(company_name), taken_names=taken_names)
    world = WorldBuilder(
        started_at=STARTED_AT,
        company_name=company_name,
        domain=domain_of(company_name),
        agent_id=staff.people[0].id,
        ids=ids,
        staff=staff,
        absences=draw_absences(stream.child("absences"), ids, staff),
        holidays=holidays_around(today),
        vendor_words=stream.child("words").shuffled(pool("vendors")["word"]),
        taken_names=taken_names,
        office=office,
    )
    draw_vendors(world, stream.child("vendors"), VENDORS)
    draw_records(world, stream.child("records"))
    draw_policies(world, stream.child("policies"))
    draw_approvals(world, stream.child("approvals"))
    remove_requests(world, lambda request: request.status == "pending")
    draw_backlog(world, stream.child("backlog"), TICKETS_SCALE)
    shorten_absences(world)
    return world


def _name_teams(world: WorldBuilder, office: str, code: str) -> None:
    """Give the teams and leads of an office their own names, and remove all roles."""
    staff, ticketdesk = world.staff, world.ticketdesk
    names = {team.id: _SITE_MANAGEMENT if team.id == EXECUTIVE else team.name for team in staff.teams}
    ids = {team: f"{name.lower().replace(' ', '-')}-{office.lower()}" for team, name in names.items()}
    staff.teams = [
        team.model_copy(update={"id": ids[team.id], "name": f"{names[team.id]} {office}"}) for team in staff.teams
    ]
    staff.people = [
        one.model_copy(update={"team_id": ids[one.team_id], "title": _title(one, office), "roles": ()})
        for one in staff.people
    ]
    ticketdesk.team_prefixes = {ids[team]: f"{prefix}{code}" for team, prefix in ticketdesk.team_prefixes.items()}
    for ticket in ticketdesk.tickets:
        ticket.key, ticket.team_id = _key(ticket.key, code), ids[ticket.team_id]
    rows: list[ChecklistRow | CommentRow | TransitionRow]
    rows = [*ticketdesk.checklist_items, *ticketdesk.comments, *ticketdesk.transitions]
    for row in rows:
        row.ticket_key = _key(row.ticket_key, code)
    for link in ticketdesk.links:
        link.from_key, link.to_key = _key(link.from_key, code), _key(link.to_key, code)


def _limit_policies(world: WorldBuilder, office: str, number: int) -> None:
    """Limit the policies of an office to that office, and let them refer to each other."""
    entries = pool("policies")["policy"]
    first = FIRST_POLICY + number * len(entries)
    ids = {entry["topic"]: f"POL-{first + place}" for place, entry in enumerate(entries)}
    references = {entry["topic"]: f"{ids[entry['topic']]} ({entry['title']})" for entry in entries}
    related = {entry["topic"]: entry["related"].format_map(references) for entry in entries}
    for row in world.datahub.policies:
        row.policy_id = ids[row.topic]
        row.id = f"{row.policy_id}-v{row.version}"
        row.title = f"{row.title} ({office})"
        sections = _HEADING.sub(lambda heading: f"{int(heading[1]) + 1}. ", row.body)
        last = len(_HEADING.findall(row.body)) + 2
        row.body = (
            f"1. Scope\n{_SCOPE.format(office=office)}\n\n{sections}\n\n{last}. Related policies\n{related[row.topic]}"
        )


def _keep_requests(world: WorldBuilder, office: str) -> None:
    """Keep the requests of an office, and remove the rest of its approvals: types and delegations belong to tasks."""
    approvalflow = world.approvalflow
    approvalflow.approval_types, approvalflow.delegations, approvalflow.traits = [], [], []
    for request in approvalflow.requests:
        request.id = f"{office}-{request.id}"
    attached_rows: list[DecisionRow | NoteRow] = [*approvalflow.decisions, *approvalflow.notes]
    for attached in attached_rows:
        attached.id, attached.request_id = f"{office}-{attached.id}", f"{office}-{attached.request_id}"


def _key(key: str, code: str) -> str:
    prefix, _, number = key.partition("-")
    return f"{prefix}{code}-{number}"


def _title(person: Person, office: str) -> str:
    """Return a person's title in an office; the titles of leads include the office."""
    title = _SITE_TITLES.get(person.title, person.title)
    return f"{title} {office}" if any(held.role is Role.TEAM_LEAD for held in person.roles) else title


def _merge(worlds: list[WorldBuilder], stream: Stream) -> WorldBuilder:
    """Merge the offices into one company, with rows in the order of their numbers."""
    first, *others = worlds
    for other in others:
        first.staff = Staff(first.today, first.staff.teams + other.staff.teams, first.staff.people + other.staff.people)
        first.absences += other.absences
        documents: Iterable[tuple[Any, Any]] = zip(first.row_documents(), other.row_documents(), strict=True)
        for document, added in documents:
            for table in fields(document):
                rows, further = getattr(document, table.name), getattr(added, table.name)
                rows.update(further) if isinstance(rows, dict) else rows.extend(further)
    number_rows(first)
    number_requests(first, stream)
    return first
