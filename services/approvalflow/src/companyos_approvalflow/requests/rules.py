"""Which requests may be made, moved and ended, and by whom."""

from __future__ import annotations

from companyos_approvalflow.approval_types.model import ApprovalType, Fields
from companyos_approvalflow.requests.model import FINAL, MOVES, OPEN, Request, RequestStatus
from companyos_shared.chassis import Problem


class RequestNotFound(Problem):
    status, code, title = 404, "request-not-found", "There is no such request"


class RequestOpen(Problem):
    status, code, title = 409, "request-open", "A request of this type on this subject is open"


class RequestFinal(Problem):
    status, code, title = 409, "request-final", "The request is final"


class InformationOutstanding(Problem):
    status, code, title = 409, "information-outstanding", "The approver waits for information"


class RequestNotSubmitted(Problem):
    status, code, title = 409, "request-not-submitted", "The request is a draft"


class InformationNotRequested(Problem):
    status, code, title = 409, "information-not-requested", "Nobody waits for information on the request"


class InformationUnchanged(Problem):
    status, code, title = 422, "information-unchanged", "The information is what the request says already"


class AmountFixed(Problem):
    status, code, title = 409, "amount-fixed", "The amount was approved already"


class NotTheRequester(Problem):
    status, code, title = 403, "not-the-requester", "The request was made by somebody else"


def existing(found: Request | None, request_id: str) -> Request:
    """Return the request that was found; raise RequestNotFound (404) for none."""
    if found is None:
        raise RequestNotFound(f"No request has the id {request_id}.")
    return found


def check_none_open(found: Request | None) -> None:
    """Raise RequestOpen (409) where a request of the same type on the same subject is open."""
    if found is not None and found.status in OPEN:
        raise RequestOpen(f"{found.id} on {found.subject} is {found.status.value}.")


def check_not_final(request: Request) -> None:
    """Raise RequestFinal (409) where nothing can happen to the request any more."""
    if request.status in FINAL:
        raise RequestFinal(f"{request.id} is {request.status.value}.")


def check_may_move(request: Request, to: RequestStatus) -> None:
    """Raise the Problem that keeps the request from moving to a status."""
    check_not_final(request)
    if to in MOVES[request.status]:
        return
    if request.status is RequestStatus.INFO_REQUESTED:
        raise InformationOutstanding(f"{request.id} waits for information.")
    raise RequestNotSubmitted(f"{request.id} is a draft.")


def check_waits_for_information(request: Request) -> None:
    """Raise RequestFinal or InformationNotRequested (409) where no approver asked for information."""
    check_not_final(request)
    if request.status is not RequestStatus.INFO_REQUESTED:
        raise InformationNotRequested(f"{request.id} is {request.status.value}.")


def check_is_information(request: Request, fields: Fields, *, justification: str) -> None:
    """Raise InformationUnchanged (422) where neither a field nor the justification differs from the request's."""
    if fields == request.fields and justification == request.justification:
        raise InformationUnchanged(f"{request.id} says the same already.")


def check_amount_stays(approval_type: ApprovalType, request: Request, *, fields: Fields, approvals: int) -> None:
    """Raise AmountFixed (409) where approvals were given for another amount."""
    if approvals and approval_type.amount_cents(fields) != approval_type.amount_cents(request.fields):
        raise AmountFixed(f"{request.id} was approved for the amount it has.")


def check_is_requester(request: Request, caller_id: str) -> None:
    """Raise NotTheRequester (403) where somebody else made the request."""
    if request.requester_id != caller_id:
        raise NotTheRequester(f"{request.id} was made by {request.requester_id}.")
