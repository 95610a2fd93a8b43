"""Pages with filtered lists of requests: the caller's own, and all."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.pages.app import PAGES, colleagues, titles_of_types
from companyos_approvalflow.requests import service
from companyos_approvalflow.requests.model import RequestStatus
from companyos_shared.framework import PageCursor, PageText, PageView, page_params, parse_choice


@PAGES.page("/")
def show_mine(
    view: PageView,
    status: PageText = "",
    type_key: PageText = "",
    approver_id: PageText = "",
    ticket_ref: PageText = "",
    subject: PageText = "",
    cursor: PageCursor = None,
) -> HTMLResponse:
    """Show the caller's requests."""
    values = _values(status, type_key, approver_id, ticket_ref, subject)
    return _listed(view, values | {"requester_id": view.call.person}, cursor, mine=True)


@PAGES.page("/requests")
def show_all(
    view: PageView,
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
    return _listed(view, values | {"requester_id": requester_id}, cursor, mine=False)


def _values(status: str, type_key: str, approver_id: str, ticket_ref: str, subject: str) -> dict[str, str]:
    return {
        "status": status,
        "type_key": type_key,
        "approver_id": approver_id,
        "ticket_ref": ticket_ref.strip(),
        "subject": subject.strip(),
    }


def _listed(view: PageView, values: dict[str, str], cursor: str | None, *, mine: bool) -> HTMLResponse:
    call = view.call
    texts = {name: text or None for name, text in values.items() if name != "status"}
    filters = service.ApprovalFilter(status=parse_choice(RequestStatus, values["status"]), **texts)
    return view.page(
        "requests.html",
        found=service.list_requests(call, page_params(cursor), filters),
        mine=mine,
        filters=values,
        cursor=cursor,
        statuses=list(RequestStatus),
        titles=titles_of_types(call),
        people=colleagues(call),
    )
