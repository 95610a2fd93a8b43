"""Pages with filtered lists of requests: the caller's own, and all."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.pages.app import PAGES, colleagues, titles_of_types
from companyos_approvalflow.requests import service
from companyos_approvalflow.requests.model import RequestStatus
from companyos_shared.chassis import PageCursor, PageText, Showing, chosen, rows_from


@PAGES.page("/")
def show_mine(
    showing: Showing,
    status: PageText = "",
    type_key: PageText = "",
    approver_id: PageText = "",
    ticket_ref: PageText = "",
    subject: PageText = "",
    cursor: PageCursor = None,
) -> HTMLResponse:
    """Show the caller's requests."""
    values = _values(status, type_key, approver_id, ticket_ref, subject)
    return _listed(showing, values | {"requester_id": showing.call.person}, cursor, mine=True)


@PAGES.page("/requests")
def show_all(
    showing: Showing,
    status: PageText = "",
    type_key: PageText = "",
    approver_id: PageText = "",
    ticket_ref: PageText = "",
    subject: PageText = "",
    requester_id: PageText = "",
    cursor: PageCursor = None,
) -> HTMLResponse:
    """Show all requests."""
    values = _values(status, type_key, approver_id, ticket_ref, subject)
    return _listed(showing, values | {"requester_id": requester_id}, cursor, mine=False)


def _values(status: str, type_key: str, approver_id: str, ticket_ref: str, subject: str) -> dict[str, str]:
    return {
        "status": status,
        "type_key": type_key,
        "approver_id": approver_id,
        "ticket_ref": ticket_ref.strip(),
        "subject": subject.strip(),
    }


def _listed(showing: Showing, values: dict[str, str], cursor: str | None, *, mine: bool) -> HTMLResponse:
    call = showing.call
    texts = {name: text or None for name, text in values.items() if name != "status"}
    filters = service.ApprovalFilter(status=chosen(RequestStatus, values["status"]), **texts)
    return showing.page(
        "requests.html",
        found=service.list_requests(call, rows_from(cursor), filters),
        mine=mine,
        filters=values,
        cursor=cursor,
        statuses=list(RequestStatus),
        titles=titles_of_types(call),
        people=colleagues(call),
    )
