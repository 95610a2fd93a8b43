"""Service functions of people."""

from __future__ import annotations

from companyos_datahub.people.rules import PersonNotFoundError, found_people, holding
from companyos_datahub.people.schemas import Approver, PersonDetail, PersonRow, RoleHeldAnswer
from companyos_shared.framework import Call, Page, PageParams, paginate_sequence
from companyos_shared.wire.company import Person, Role


def search_people(
    call: Call, page: PageParams, *, query: str | None, role: Role | None, team_id: str | None
) -> Page[PersonRow]:
    """Return matching people, including former employees."""
    day = call.now.date()
    found = found_people(call.company, query, role=role, team_id=team_id, day=day)
    return paginate_sequence(found, page, build=lambda person: _row(call, person))


def get_person(call: Call, person_id: str) -> PersonDetail:
    """Return a person, including former employees."""
    person = load_person(call, person_id)
    team = call.company.team(person.team_id)
    return PersonDetail(
        **_row(call, person).model_dump(),
        email=person.email,
        team_name=None if team is None else team.name,
        manager_id=person.manager_id,
        employed_from=person.employed_from,
        employed_to=person.employed_to,
        out_of_office=call.company.is_out_of_office(person_id, call.now.date()),
        roles=[RoleHeldAnswer.model_validate(held) for held in person.roles],
    )


def get_approver(call: Call, role: Role) -> Approver:
    """Return the holders of a role today."""
    day = call.now.date()
    people = call.company.holders(role, day)
    return Approver(role=role, holders=[holding(call.company, person, role, day=day) for person in people])


def load_person(call: Call, person_id: str) -> Person:
    """Return a person of the company; raises PersonNotFoundError (404)."""
    person = call.company.person(person_id)
    if person is None:
        raise PersonNotFoundError(f'no person in the directory, current or former, has the id "{person_id}"')
    return person


def _row(call: Call, person: Person) -> PersonRow:
    return PersonRow(
        id=person.id,
        name=person.name,
        title=person.title,
        team_id=person.team_id,
        is_employed=person.is_employed(call.now.date()),
    )
