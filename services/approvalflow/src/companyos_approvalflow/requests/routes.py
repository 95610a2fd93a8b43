"""Routes of requests."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from companyos_approvalflow.approval_types.rules import (
    AmountNegativeError,
    ApprovalTypeNotFoundError,
    EvidenceInFutureError,
    FieldMissingError,
    FieldUnknownError,
    FieldWrongTypeError,
)
from companyos_approvalflow.decisions.rules import APPROVER_PROBLEMS
from companyos_approvalflow.requests import service
from companyos_approvalflow.requests.model import RequestStatus
from companyos_approvalflow.requests.rules import (
    NotTheRequesterError,
    RequestFinalError,
    RequestNotFoundError,
    RequestOpenError,
)
from companyos_approvalflow.requests.schemas import Approval, ApprovalRow, Cancellation, NewApproval, RequestId
from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    IfMatch,
    InvalidCursorError,
    Page,
    PageQuery,
    StaleVersionError,
    error_responses,
)

router = APIRouter(tags=["requests"])

IdFilter = Annotated[str | None, Query(max_length=120)]

SUBMIT_PROBLEMS = error_responses(
    ApprovalTypeNotFoundError,
    FieldUnknownError,
    FieldWrongTypeError,
    FieldMissingError,
    AmountNegativeError,
    EvidenceInFutureError,
    *APPROVER_PROBLEMS,
    RequestOpenError,
    IdempotencyKeyReusedError,
)
WITHDRAW_PROBLEMS = error_responses(RequestNotFoundError, StaleVersionError, NotTheRequesterError, RequestFinalError)
CANCEL_PROBLEMS = error_responses(RequestNotFoundError, StaleVersionError, RequestFinalError)


@router.post("/approvals", operation_id="submit_approval", status_code=201, responses=SUBMIT_PROBLEMS)
async def submit_approval(body: NewApproval, call: CallDep, idempotency_key: IdempotencyKey = None) -> Approval:
    """Submit a request for approval.

    The caller is the requester. The approver must have the role that the type requires for the amount, or a valid
    delegation from a holder, and must be in the office today. Approvers decide within office hours.
    """
    return service.submit(call, body)


@router.get("/approvals", operation_id="list_approvals", responses=error_responses(InvalidCursorError))
async def list_approvals(
    call: CallDep,
    page: PageQuery,
    status: RequestStatus | None = None,
    type_key: IdFilter = None,
    subject: IdFilter = None,
    ticket_ref: IdFilter = None,
    approver_id: IdFilter = None,
    requester_id: IdFilter = None,
) -> Page[ApprovalRow]:
    """List requests, latest first."""
    filters = service.ApprovalFilter(
        status=status,
        type_key=type_key,
        subject=subject,
        ticket_ref=ticket_ref,
        approver_id=approver_id,
        requester_id=requester_id,
    )
    return service.list_requests(call, page, filters)


@router.get("/approvals/{request_id}", operation_id="get_approval", responses=error_responses(RequestNotFoundError))
async def get_approval(request_id: RequestId, call: CallDep) -> Approval:
    """Get a request with its decisions and notes."""
    return service.show_request(call, request_id)


@router.post("/approvals/{request_id}/withdrawal", operation_id="withdraw_approval", responses=WITHDRAW_PROBLEMS)
async def withdraw_approval(request_id: RequestId, call: CallDep, if_match: IfMatch = None) -> Approval:
    """Withdraw your own request permanently.

    Only the requester may do this, until the request is final.
    """
    return service.withdraw(call, request_id, if_match)


@router.post("/approvals/{request_id}/cancellation", operation_id="cancel_approval", responses=CANCEL_PROBLEMS)
async def cancel_approval(
    request_id: RequestId, body: Cancellation, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Cancel any request permanently.

    Any employee may do this until the request is final, with a reason and the id of a related object.
    """
    return service.cancel(call, request_id, reason_code=body.reason_code, reason_ref=body.reason_ref, if_match=if_match)
