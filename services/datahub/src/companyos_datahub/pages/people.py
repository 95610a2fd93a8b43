"""Pages of the directory, a person, the organisation and the roles."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_datahub.pages.app import PAGES
from companyos_datahub.pages.organisation import departments, reporting_lines
from companyos_datahub.people import service
from companyos_shared.chassis import PageCursor, PageText, Showing, chosen, rows_from
from companyos_shared.pages.writing import label
from companyos_shared.wire.company import Role


@PAGES.page("/people")
def show_people(
    showing: Showing, q: PageText = "", role: PageText = "", team_id: PageText = "", cursor: PageCursor = None
) -> HTMLResponse:
    """Show the people who match all filters and contain any of the words."""
    call = showing.call
    found = service.search_people(
        call, rows_from(cursor), query=q.strip() or None, role=chosen(Role, role), team_id=team_id or None
    )
    return showing.page(
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
def show_person(showing: Showing, person_id: str) -> HTMLResponse:
    """Show a person."""
    return showing.page("person.html", person=service.get_person(showing.call, person_id), titles=dict(_roles()))


@PAGES.page("/organisation")
def show_organisation(showing: Showing) -> HTMLResponse:
    """Show reporting lines and teams."""
    company, day = showing.call.company, showing.call.now.date()
    return showing.page("organisation.html", lines=reporting_lines(company, day), departments=departments(company, day))


@PAGES.page("/roles")
def show_roles(showing: Showing) -> HTMLResponse:
    """Show the holders of each role today, with absence and deputy."""
    held = [service.get_approver(showing.call, role) for role in Role]
    return showing.page("roles.html", held=held, titles=dict(_roles()))


def _roles() -> list[tuple[Role, str]]:
    return [(role, label(role)) for role in Role]
