"""Search and role lookups in the company's directory."""

from __future__ import annotations

from datetime import date, timedelta

from companyos_datahub.people.schemas import Holder, PersonRef
from companyos_shared.framework import Searchable, ServiceError, search
from companyos_shared.wire.company import Company, Person, Role

LONGEST_ABSENCE_DAYS = 730


class PersonNotFoundError(ServiceError):
    status, code, title = 404, "person-not-found", "Person not found"


def found_people(
    company: Company, query: str | None, *, role: Role | None, team_id: str | None, day: date
) -> list[Person]:
    """Return the people who match the words, the team and the role held on that day."""
    people = [
        person
        for person in company.people
        if (team_id is None or person.team_id == team_id)
        and (role is None or company.held_role(person.id, role, day) is not None)
    ]
    return search(people, query, lambda person: _searchable(company, person))


def holding(company: Company, person: Person, role: Role, *, day: date) -> Holder:
    """Return the role holder with absence and deputy on a day. A deputy who is not employed that day is ignored."""
    held = company.held_role(person.id, role, day)
    deputy = company.person(held.deputy_id) if held is not None and held.deputy_id is not None else None
    if deputy is not None and not deputy.is_employed(day):
        deputy = None
    away = company.is_out_of_office(person.id, day)
    return Holder(
        person=PersonRef.model_validate(person),
        out_of_office=away,
        back_on=back_on(company, person.id, day) if away else None,
        deputy=None if deputy is None else PersonRef.model_validate(deputy),
        deputy_out_of_office=None if deputy is None else company.is_out_of_office(deputy.id, day),
    )


def back_on(company: Company, person_id: str, day: date) -> date | None:
    """Return the person's first working day without absence from `day` on, or None if it is over two years away."""
    days = (day + timedelta(days=ahead) for ahead in range(LONGEST_ABSENCE_DAYS))
    return next(
        (each for each in days if company.is_working_day(each) and not company.is_out_of_office(person_id, each)), None
    )


def _searchable(company: Company, person: Person) -> Searchable:
    team = company.team(person.team_id)
    return Searchable(person.id, person.name, f"{person.email} {person.title} {'' if team is None else team.name}")
