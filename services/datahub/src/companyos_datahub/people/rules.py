"""Who matches a search, who holds a role today and when an absent person is back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from companyos_datahub.people.model import Holding
from companyos_shared.chassis import Problem
from companyos_shared.wire.company import Company, Person, Role

LONGEST_ABSENCE_DAYS = 730


class PersonNotFound(Problem):
    status, code, title = 404, "person-not-found", "There is no such person"


def matches(company: Company, person: Person, words: Sequence[str]) -> int:
    """Return how many of the words are found in a person's name, email, title, id or team's name."""
    team = company.team(person.team_id)
    text = " ".join((person.id, person.name, person.email, person.title, team.name if team else "")).lower()
    return sum(word in text for word in words)


def found_people(
    company: Company, words: Sequence[str] | None, *, role: Role | None, team_id: str | None, day: date
) -> list[Person]:
    """Return who matches a word, best match first, then by id; without words everybody, with a role its holders."""
    people = [
        (-matches(company, person, words or ()), person.id, person)
        for person in company.people
        if (team_id is None or person.team_id == team_id)
        and (role is None or company.held_role(person.id, role, day) is not None)
    ]
    return [person for score, _, person in sorted(people, key=lambda found: found[:2]) if score < 0 or words is None]


def holding(company: Company, person: Person, role: Role, *, day: date) -> Holding:
    """Return how a person holds a role on a day; a deputy who is not employed that day is none."""
    held = company.held_role(person.id, role, day)
    deputy = company.person(held.deputy_id) if held is not None and held.deputy_id is not None else None
    if deputy is not None and not deputy.is_employed(day):
        deputy = None
    away = company.is_out_of_office(person.id, day)
    return Holding(
        person=person,
        out_of_office=away,
        back_on=back_on(company, person.id, day) if away else None,
        deputy=deputy,
        deputy_out_of_office=None if deputy is None else company.is_out_of_office(deputy.id, day),
    )


def back_on(company: Company, person_id: str, day: date) -> date | None:
    """Return the first working day from `day` on that the person is not absent, None if not within two years."""
    days = (day + timedelta(days=ahead) for ahead in range(LONGEST_ABSENCE_DAYS))
    return next(
        (each for each in days if company.is_working_day(each) and not company.is_out_of_office(person_id, each)), None
    )
