"""Rules of requests: submission, status transitions and their callers."""

from __future__ import annotations

from companyos_approvalflow.approval_types.model import ApprovalType, Fields
from companyos_approvalflow.requests.model import FINAL, MOVES, OPEN, Request, RequestStatus
from companyos_shared.framework import ServiceError
from companyos_shared.wire.company import Company


class RequestNotFoundError(ServiceError):
    status, code, title = 404, "request-not-found", "Request not found"


class RequestOpenError(ServiceError):
    status, code, title = 409, "request-open", "Request already open"


class RequestFinalError(ServiceError):
    status, code, title = 409, "request-final", "Request is final"


class InformationOutstandingError(ServiceError):
    status, code, title = 409, "information-outstanding", "Information outstanding"


class RequestNotSubmittedError(ServiceError):
    status, code, title = 409, "request-not-submitted", "Request not submitted"


class InformationNotRequestedError(ServiceError):
    status, code, title = 409, "information-not-requested", "Information not requested"


class InformationUnchangedError(ServiceError):
    status, code, title = 422, "information-unchanged", "Information unchanged"


class AmountFixedError(ServiceError):
    status, code, title = 409, "amount-fixed", "Amount already approved"


class NotTheRequesterError(ServiceError):
    status, code, title = 403, "not-the-requester", "Caller is not the requester"


class CancellationNotAllowedError(ServiceError):
    status, code, title = 403, "cancellation-not-allowed", "Caller may not cancel the request"


def existing(request: Request | None, request_id: str) -> Request:
    """Return the request; raises RequestNotFoundError (404) for None."""
    if request is None:
        raise RequestNotFoundError(f'no request has the id "{request_id}"')
    return request


def check_none_open(request: Request | None) -> None:
    """Raise RequestOpenError (409) if a request of the same type on the same subject is open."""
    if request is not None and request.status in OPEN:
        raise RequestOpenError(f"{request.id} on {request.subject} is {request.status.value}.")


def check_not_final(request: Request) -> None:
    """Raise RequestFinalError (409) if the request's status is final."""
    if request.status in FINAL:
        raise RequestFinalError(f"{request.id} is {request.status.value}.")


def check_may_move(request: Request, to: RequestStatus) -> None:
    """Raise an error if the request cannot change to a status.

    Raises RequestFinalError, InformationOutstandingError or RequestNotSubmittedError (409).
    """
    check_not_final(request)
    if to in MOVES[request.status]:
        return
    if request.status is RequestStatus.INFO_REQUESTED:
        raise InformationOutstandingError(f"{request.id} is {request.status.value}.")
    raise RequestNotSubmittedError(f"{request.id} is {request.status.value}.")


def check_waits_for_information(request: Request) -> None:
    """Raise RequestFinalError or InformationNotRequestedError (409) unless an approver requested information."""
    check_not_final(request)
    if request.status is not RequestStatus.INFO_REQUESTED:
        raise InformationNotRequestedError(f"{request.id} is {request.status.value}.")


def check_is_information(request: Request, fields: Fields, *, answer: str) -> None:
    """Raise InformationUnchangedError (422) for a blank answer without a changed field."""
    if fields == request.fields and not answer.strip():
        raise InformationUnchangedError(f"answer must not be blank unless a field of {request.id} changes")


def check_amount_stays(approval_type: ApprovalType, request: Request, *, fields: Fields, approvals: int) -> None:
    """Raise AmountFixedError (409) if the amount changes after an approval."""
    approved, amount = approval_type.amount_cents(request.fields), approval_type.amount_cents(fields)
    if approvals and amount != approved:
        raise AmountFixedError(f"fields.{approval_type.amount_field} must be {approved}, as approved; got {amount}")


def check_is_requester(request: Request, caller_id: str) -> None:
    """Raise NotTheRequesterError (403) if another person submitted the request."""
    if request.requester_id != caller_id:
        raise NotTheRequesterError(f"The requester of {request.id} is {request.requester_id}.")


def may_cancel(company: Company, approval_type: ApprovalType, request: Request, caller_id: str) -> bool:
    """Return whether the caller is the requester, the current approver, or in a team that administers the type."""
    caller = company.person(caller_id)
    is_administrator = caller is not None and caller.team_id in approval_type.administered_by
    return is_administrator or caller_id in (request.requester_id, request.approver_id)


def check_may_cancel(company: Company, approval_type: ApprovalType, request: Request, caller_id: str) -> None:
    """Raise CancellationNotAllowedError (403) if the caller may not cancel the request."""
    if may_cancel(company, approval_type, request, caller_id):
        return
    teams = ", ".join(approval_type.administered_by) or "none"
    raise CancellationNotAllowedError(
        f"{request.id} can be cancelled by its requester ({request.requester_id}), by its current approver "
        f"({request.approver_id}) and by the teams that administer {approval_type.key} ({teams}); got {caller_id}"
    )
