"""Pages with a filtered ticket list and a board by status."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_shared.framework import Call, PageCursor, PageParams, PageText, PageView, page_params
from companyos_ticketdesk.board import service
from companyos_ticketdesk.board.model import NONE, TicketFilter
from companyos_ticketdesk.pages.app import PAGES, people_of, teams_of
from companyos_ticketdesk.tickets.model import SETTLED, Priority, Status, TicketType

COLUMN_ROWS = 8
"""Maximum number of tickets in a column of the board."""


@PAGES.page("/")
def show_list(
    view: PageView,
    q: PageText = "",
    status: PageText = "",
    priority: PageText = "",
    type: PageText = "",
    team_id: PageText = "",
    assignee_id: PageText = "",
    tag: PageText = "",
    cursor: PageCursor = None,
) -> HTMLResponse:
    """Show the tickets that match all filters, or those that contain any of the words."""
    filters = {
        "status": status,
        "priority": priority,
        "type": type,
        "team_id": team_id,
        "assignee_id": assignee_id,
        "tag": tag,
    }
    params = page_params(cursor)
    if q.strip():
        found, filters = service.search_tickets(view.call, q, params), dict.fromkeys(filters, "")
    else:
        values = {name: value or None for name, value in filters.items()}
        found = service.list_tickets(view.call, TicketFilter(**values), params)
    return view.page(
        "list.html",
        found=found,
        q=q.strip(),
        views=_views(view.call),
        filters=filters,
        cursor=cursor,
        settled=SETTLED,
        choices={
            "status": [NONE, *Status],
            "priority": [NONE, *Priority],
            "type": list(TicketType),
            "team_id": teams_of(view.call.company),
            "assignee_id": [(NONE, "Nobody"), *people_of(view.call.company)],
        },
    )


def _views(call: Call) -> list[tuple[str, str, dict[str, str]]]:
    """Return name, title and filters of the views."""
    me = call.company.person(call.person)
    return [
        ("all", "All", {}),
        ("mine", "Assigned to me", {"assignee_id": call.person}),
        *([] if me is None else [("team", "My team", {"team_id": me.team_id})]),
        ("unassigned", "Unassigned", {"assignee_id": NONE}),
        ("untriaged", "Untriaged", {"status": NONE}),
        ("open", "Open", {"status": Status.OPEN}),
    ]


@PAGES.page("/board")
def show_board(view: PageView, team_id: PageText = "") -> HTMLResponse:
    """Show the tickets of a team, or of all teams, in one column per status."""
    columns = {}
    for status in (NONE, *Status):
        filters = TicketFilter(status=status, team_id=team_id or None)
        columns[status] = service.list_tickets(view.call, filters, PageParams(COLUMN_ROWS, None))
        for row in columns[status].items:
            view.shows(row, "status")
    return view.page("board.html", columns=columns, team_id=team_id, untriaged=NONE)
