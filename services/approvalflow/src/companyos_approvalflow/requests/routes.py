"""Routes of requests."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from companyos_approvalflow.approval_types.rules import FIELD_PROBLEMS, ApprovalTypeNotFoundError
from companyos_approvalflow.decisions.rules import APPROVER_PROBLEMS
from companyos_approvalflow.requests import service
from companyos_approvalflow.requests.model import RequestStatus
from companyos_approvalflow.requests.rules import (
    CancellationNotAllowedError,
    NotTheRequesterError,
    RequestFinalError,
    RequestNotFoundError,
    RequestOpenError,
)
from companyos_approvalflow.requests.schemas import (
    Approval,
    ApprovalRow,
    Cancellation,
    CancelledId,
    NewApproval,
    RequestId,
)
from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    IfMatch,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    StaleVersionError,
    error_responses,
)

router = OperationRouter(tags=["requests"])

IdFilter = Annotated[str | None, Query(max_length=120)]

SUBMIT_PROBLEMS = error_responses(
    ApprovalTypeNotFoundError,
    *FIELD_PROBLEMS,
    *APPROVER_PROBLEMS,
    RequestOpenError,
    IdempotencyKeyReusedError,
)
WITHDRAW_PROBLEMS = error_responses(RequestNotFoundError, StaleVersionError, NotTheRequesterError, RequestFinalError)
CANCEL_PROBLEMS = error_responses(
    RequestNotFoundError, StaleVersionError, CancellationNotAllowedError, RequestFinalError
)


@router.post("/approvals", operation_id="submit_approval", status_code=201, responses=SUBMIT_PROBLEMS)
async def submit_approval(body: NewApproval, call: CallDep, idempotency_key: IdempotencyKey = None) -> Approval:
    """Submit a request for approval.

    The caller is the requester. The approver must hold the role that the type requires for the amount, or have a valid
    delegation from a holder, and must be in the office today. A deputy named in the directory may not decide without
    such a delegation. Approvers decide in office hours; authority is checked again when they decide, the age of the
    evidence only at submission.
    """
    return service.submit(call, body)


@router.get("/approvals", operation_id="list_approvals", responses=error_responses(InvalidCursorError))
async def list_approvals(
    call: CallDep,
    page: PageQuery,
    status: Annotated[RequestStatus | None, Query(description="Status of the request.")] = None,
    type_key: Annotated[IdFilter, Query(description="Key of the approval type.")] = None,
    subject: Annotated[IdFilter, Query(description="ID of the object to approve.")] = None,
    ticket_ref: Annotated[IdFilter, Query(description="Key of the related ticket.")] = None,
    approver_id: Annotated[IdFilter, Query(description="ID of the approver.")] = None,
    requester_id: Annotated[IdFilter, Query(description="ID of the person who submitted the request.")] = None,
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
    """Get a request with its decisions, thread and notes."""
    return service.show_request(call, request_id)


@router.post("/approvals/{request_id}/withdrawal", operation_id="withdraw_approval", responses=WITHDRAW_PROBLEMS)
async def withdraw_approval(request_id: RequestId, call: CallDep, if_match: IfMatch = None) -> Approval:
    """Withdraw your own request permanently.

    Only the requester may do this, and only while the request is not final.
    """
    return service.withdraw(call, request_id, if_match)


@router.post("/approvals/{request_id}/cancellation", operation_id="cancel_approval", responses=CANCEL_PROBLEMS)
async def cancel_approval(
    request_id: CancelledId, body: Cancellation, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Cancel a request that you are responsible for.

    Allowed for the requester, the current approver and the members of a team that administers the approval type, and
    only while the request is not final. A cancellation is permanent.
    """
    return service.cancel(call, request_id, reason_code=body.reason_code, reason_ref=body.reason_ref, if_match=if_match)
