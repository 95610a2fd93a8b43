"""Page that lists, creates and revokes delegations."""

from __future__ import annotations

from datetime import datetime

from fastapi.responses import HTMLResponse

from companyos_approvalflow.delegations import service
from companyos_approvalflow.delegations.model import Delegation
from companyos_approvalflow.pages.app import PAGES, colleagues, titles_of_types
from companyos_shared.framework import PageCursor, PageText, PageView, page_params

IN_FORCE, NOT_STARTED, ENDED, REVOKED = "in_force", "not_started", "ended", "revoked"


@PAGES.page("/delegations")
def show_delegations(
    view: PageView, from_id: PageText = "", to_id: PageText = "", cursor: PageCursor = None
) -> HTMLResponse:
    """Show delegations, including past and revoked ones."""
    call = view.call
    delegations = service.list_delegations(call, page_params(cursor), from_id=from_id or None, to_id=to_id or None)
    return view.page(
        "delegations.html",
        found=delegations,
        states=[state_of(row, call.now) for row in delegations.items],
        over=(ENDED, REVOKED),
        filters={"from_id": from_id, "to_id": to_id},
        cursor=cursor,
        me=call.person,
        titles=titles_of_types(call),
        people=colleagues(call),
    )


def state_of(delegation: Delegation, now: datetime) -> str:
    """Return the state of a delegation at `now`."""
    if delegation.revoked_at is not None:
        return REVOKED
    if delegation.ends_at <= now:
        return ENDED
    return IN_FORCE if delegation.starts_at <= now else NOT_STARTED
