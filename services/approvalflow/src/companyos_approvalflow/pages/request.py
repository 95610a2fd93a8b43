"""Page of a request: timeline, approvers, fields and actions."""

from __future__ import annotations

from fastapi.responses import HTMLResponse

from companyos_approvalflow.approval_types.service import require_type, show_type
from companyos_approvalflow.pages.app import PAGES, colleagues
from companyos_approvalflow.pages.approvers import next_decision_of
from companyos_approvalflow.pages.chain import approvals_given, chain_of
from companyos_approvalflow.pages.fields import fields_of
from companyos_approvalflow.requests import service
from companyos_approvalflow.requests.model import MOVES, EndReason, RequestStatus, read_request
from companyos_approvalflow.requests.rules import may_cancel
from companyos_shared.framework import Call, PageView


def locate(call: Call, request_id: str) -> tuple[str, str] | None:
    """Return the parts of a request's page path, or None if there is no such request."""
    return None if read_request(call.db, request_id) is None else ("requests", request_id)


PAGES.opens(locate)


@PAGES.page("/requests/{request_id}")
def show_request(view: PageView, request_id: str) -> HTMLResponse:
    """Show a request."""
    call = view.call
    request = service.show_request(call, request_id)
    view.shows(request, "fields")
    approval_type = show_type(call, request.type_key)
    moves = MOVES[request.status]
    stored = service.require_request(call, request_id)
    return view.page(
        "request.html",
        request=request,
        type=approval_type,
        chain=chain_of(request),
        next_decision=next_decision_of(call, stored),
        given=approvals_given(request),
        fields=fields_of(approval_type, request.fields),
        people=colleagues(call),
        reasons=list(EndReason),
        may_inform=request.status is RequestStatus.INFO_REQUESTED,
        may_escalate=RequestStatus.ESCALATED in moves,
        may_withdraw=RequestStatus.WITHDRAWN in moves and request.requester_id == call.person,
        may_cancel=RequestStatus.CANCELLED in moves
        and may_cancel(call.company, require_type(call, request.type_key), stored, call.person),
        is_final=not moves,
    )
