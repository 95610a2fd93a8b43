"""Pages with filtered lists of requests: the caller's own, and all."""

from __future__ import annotations

from typing import Any

from fastapi.responses import HTMLResponse

from companyos_approvalflow.pages.app import PAGES, colleagues, titles_of_types
from companyos_approvalflow.requests import service
from companyos_approvalflow.requests.model import RequestStatus
from companyos_shared.framework import PageCursor, PageText, PageView, page_params, parse_choice

_FILTERS = ("status", "type_key", "approver_id", "requester_id", "ticket_ref", "subject")


@PAGES.page("/")
def show_own(view: PageView) -> HTMLResponse:
    """Show the caller's requests."""
    return _listed(view, {"requester_id": view.call.person}, None)


@PAGES.page("/requests")
def show_all(
    view: PageView,
    status: PageText = "",
    type_key: PageText = "",
    approver_id: PageText = "",
    requester_id: PageText = "",
    ticket_ref: PageText = "",
    subject: PageText = "",
    cursor: PageCursor = None,
) -> HTMLResponse:
    """Show the requests that match all filters."""
    values = {
        "status": status,
        "type_key": type_key,
        "approver_id": approver_id,
        "requester_id": requester_id,
        "ticket_ref": ticket_ref.strip(),
        "subject": subject.strip(),
    }
    return _listed(view, values, cursor)


def _listed(view: PageView, values: dict[str, str], cursor: str | None) -> HTMLResponse:
    call = view.call
    texts = dict.fromkeys(_FILTERS, "") | values
    values_or_none: dict[str, Any] = {name: text or None for name, text in texts.items()}
    values_or_none["status"] = parse_choice(RequestStatus, texts["status"])
    return view.page(
        "requests.html",
        found=service.list_requests(call, page_params(cursor), service.ApprovalFilter(**values_or_none)),
        views=_views(call.person),
        filters=texts,
        cursor=cursor,
        statuses=list(RequestStatus),
        titles=titles_of_types(call),
        people=colleagues(call),
    )


def _views(me: str) -> list[tuple[str, str, dict[str, str]]]:
    """Return name, title and filters of the views."""
    return [
        ("mine", "Submitted by me", {"requester_id": me}),
        ("answer", "Waiting for my answer", {"requester_id": me, "status": RequestStatus.INFO_REQUESTED}),
        ("approver", "Assigned to me", {"approver_id": me}),
        ("all", "All", {}),
    ]
