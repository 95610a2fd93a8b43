"""Pages of the directory, a person, the organisation and the roles."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_datahub.pages.app import PAGES
from companyos_datahub.pages.organisation import departments, is_large, reporting_lines
from companyos_datahub.people import service
from companyos_shared.framework import PageCursor, PageText, PageView, page_params, parse_choice
from companyos_shared.pages.rendering import label
from companyos_shared.wire.company import Role


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
