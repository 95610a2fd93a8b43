"""Pages of a ticket with its actions, and of a new ticket."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_shared.framework import Call, PageCursor, PageView, list_edits, page_params
from companyos_shared.wire.company import ReasonCode
from companyos_ticketdesk import tables
from companyos_ticketdesk.board import service as board
from companyos_ticketdesk.comments.service import list_comments
from companyos_ticketdesk.links.model import LinkKind
from companyos_ticketdesk.pages.app import PAGES, teams_of
from companyos_ticketdesk.tickets.model import FINAL, Priority, TicketType, find_ticket
from companyos_ticketdesk.workflow.rules import NEEDS_REASON, TAKES_REASON
from companyos_ticketdesk.workflow.service import list_history

_EDITED = {
    "title": ("Title", "text"),
    "type": ("Type", "choice"),
    "priority": ("Priority", "choice"),
    "assignee_id": ("Assignee", "person"),
    "due_at": ("Due", "datetime"),
    "verified_at": ("Verified", "datetime"),
    "approval_ref": ("Approval", "text"),
    "tags": ("Tags", "text"),
    "description": ("Description", "text"),
}


@PAGES.page("/tickets/{key}")
def show_ticket(view: PageView, key: str, comments: PageCursor = None, history: PageCursor = None) -> HTMLResponse:
    """Show a ticket."""
    call = view.call
    ticket = board.show_ticket(call, key)
    day = call.now.date()
    team = [one for one in call.company.people if one.team_id == ticket.team_id and one.is_employed(day)]
    return view.page(
        "ticket.html",
        ticket=ticket,
        comments=list_comments(call, key, page_params(comments)),
        history=list_history(call, key, page_params(history)),
        edits=list_edits(view, tables.tickets, key, _EDITED),
        team=sorted(team, key=lambda one: one.name),
        priorities=list(Priority),
        types=list(TicketType),
        reasons=list(ReasonCode),
        kinds=list(LinkKind),
        takes_reason=TAKES_REASON,
        needs_reason=NEEDS_REASON,
        final=FINAL,
    )


def locate(call: Call, key: str) -> tuple[str, str] | None:
    """Return the parts of a ticket's page path, or None if there is no such ticket."""
    return None if find_ticket(call.db, key) is None else ("tickets", key)


PAGES.opens(locate)


@PAGES.page("/new")
def show_new(view: PageView) -> HTMLResponse:
    """Show the form of a new ticket."""
    teams = teams_of(view.call.company)
    return view.page("new.html", priorities=list(Priority), types=list(TicketType), teams=teams)
