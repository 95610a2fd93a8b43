"""Requests in a list, by filters: those of the person who looks, and everybody's."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.pages.app import PAGES, Cursor, Text, colleagues, rows_from, titles_of_types
from companyos_approvalflow.requests import operations
from companyos_approvalflow.requests.model import RequestStatus
from companyos_shared.chassis import InvalidArguments, Showing


@PAGES.page("/")
def show_mine(
    showing: Showing,
    status: Text = "",
    type_key: Text = "",
    approver_id: Text = "",
    ticket_ref: Text = "",
    subject: Text = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    """Show the requests that the person who looks has made."""
    asked = _asked(status, type_key, approver_id, ticket_ref, subject)
    return _listed(showing, asked | {"requester_id": showing.call.person}, cursor, mine=True)


@PAGES.page("/requests")
def show_all(
    showing: Showing,
    status: Text = "",
    type_key: Text = "",
    approver_id: Text = "",
    ticket_ref: Text = "",
    subject: Text = "",
    requester_id: Text = "",
    cursor: Cursor = None,
) -> HTMLResponse:
    """Show the requests of everybody."""
    asked = _asked(status, type_key, approver_id, ticket_ref, subject)
    return _listed(showing, asked | {"requester_id": requester_id}, cursor, mine=False)


def _asked(status: str, type_key: str, approver_id: str, ticket_ref: str, subject: str) -> dict[str, str]:
    return {
        "status": status,
        "type_key": type_key,
        "approver_id": approver_id,
        "ticket_ref": ticket_ref.strip(),
        "subject": subject.strip(),
    }


def _listed(showing: Showing, asked: dict[str, str], cursor: str | None, *, mine: bool) -> HTMLResponse:
    call = showing.call
    chosen = {name: text or None for name, text in asked.items() if name != "status"}
    wanted = operations.ApprovalFilter(status=_status(asked["status"]), **chosen)
    return showing.page(
        "requests.html",
        found=operations.list_requests(call, rows_from(cursor), wanted),
        mine=mine,
        asked=asked,
        cursor=cursor,
        statuses=list(RequestStatus),
        titles=titles_of_types(call),
        people=colleagues(call),
    )


def _status(text: str) -> RequestStatus | None:
    """Return the status that was chosen, None where none was; raises InvalidArguments (422) for another."""
    try:
        return RequestStatus(text) if text else None
    except ValueError as error:
        raise InvalidArguments(f"{text!r} is none of the choices.") from error
