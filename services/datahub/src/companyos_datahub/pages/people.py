"""Pages of the directory, a person, the organisation and the roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from fastapi.responses import HTMLResponse

from companyos_datahub.pages.app import PAGES
from companyos_datahub.people import service
from companyos_shared.framework import PageCursor, PageText, PageView, page_params, parse_choice
from companyos_shared.pages.rendering import label
from companyos_shared.wire.company import Company, Person, Role, Team


@PAGES.page("/people")
def show_people(
    view: PageView, q: PageText = "", role: PageText = "", team_id: PageText = "", cursor: PageCursor = None
) -> HTMLResponse:
    """Show the people who match all filters and contain any of the words."""
    call = view.call
    found = service.search_people(
        call, page_params(cursor), query=q.strip() or None, role=parse_choice(Role, role), team_id=team_id or None
    )
    return view.page(
        "people.html",
        found=found,
        details=[service.get_person(call, row.id) for row in found.items],
        q=q.strip(),
        filters={"role": role, "team_id": team_id},
        cursor=cursor,
        roles=_roles(),
        teams=sorted(((team.id, team.name) for team in call.company.teams), key=lambda choice: choice[1]),
    )


@PAGES.page("/people/{person_id}")
def show_person(view: PageView, person_id: str) -> HTMLResponse:
    """Show a person."""
    return view.page("person.html", person=service.get_person(view.call, person_id), titles=dict(_roles()))


@PAGES.page("/organisation")
def show_organisation(view: PageView) -> HTMLResponse:
    """Show reporting lines and teams."""
    company, day = view.call.company, view.call.now.date()
    return view.page(
        "organisation.html",
        lines=reporting_lines(company, day),
        departments=departments(company, day),
        is_large=is_large(company),
    )


@PAGES.page("/roles")
def show_roles(view: PageView) -> HTMLResponse:
    """Show the holders of each role today, with absence and deputy."""
    held = [service.get_approver(view.call, role) for role in Role]
    return view.page("roles.html", held=held, titles=dict(_roles()))


def _roles() -> list[tuple[Role, str]]:
    return [(role, label(role)) for role in Role]


MAX_PEOPLE = 200
"""Maximum number of people in an org chart."""


@dataclass(frozen=True, slots=True)
class Node:
    """A person with their reports, by name."""

    person: Person
    is_away: bool
    reports: tuple[Node, ...]

    def has(self, person_id: str) -> bool:
        """Return whether the person is in the tree."""
        return self.person.id == person_id or any(node.has(person_id) for node in self.reports)


@dataclass(frozen=True, slots=True)
class TeamOf:
    """A team with its members, by name."""

    team: Team
    members: tuple[Person, ...]


def reporting_lines(company: Company, day: date) -> list[Node]:
    """Return the people employed on a day as trees; people without an employed manager are roots.

    For a company with more than MAX_PEOPLE people, return only the tree of the caller.
    """
    people = _employed(company, day)
    there = {person.id for person in people}
    below: dict[str | None, list[Person]] = {}
    for person in people:
        below.setdefault(person.manager_id if person.manager_id in there else None, []).append(person)
    placed: set[str] = set()

    def placing(person: Person) -> Node:
        placed.add(person.id)
        reports = [placing(one) for one in below.get(person.id, ()) if one.id not in placed]
        return Node(person, company.is_out_of_office(person.id, day), tuple(reports))

    tops = [placing(person) for person in below.get(None, ())]
    trees = tops + [placing(person) for person in people if person.id not in placed]
    return [tree for tree in trees if tree.has(company.agent_id)] if is_large(company) else trees


def is_large(company: Company) -> bool:
    """Return whether the company has too many people for one page."""
    return len(company.people) > MAX_PEOPLE


def departments(company: Company, day: date) -> Mapping[str, list[TeamOf]]:
    """Return the teams of each department with their members on that day, by name."""
    members: dict[str, list[Person]] = {}
    for person in _employed(company, day):
        members.setdefault(person.team_id, []).append(person)
    found: dict[str, list[TeamOf]] = {}
    for team in sorted(company.teams, key=lambda one: (one.department, one.name)):
        found.setdefault(team.department, []).append(TeamOf(team, tuple(members.get(team.id, ()))))
    return found


def _employed(company: Company, day: date) -> list[Person]:
    return sorted((one for one in company.people if one.is_employed(day)), key=lambda one: (one.name, one.id))
