"""Routes that provide information and escalate requests. Approvers are simulated, so no route makes a decision."""

from __future__ import annotations

from companyos_approvalflow.approval_types.rules import FIELD_PROBLEMS
from companyos_approvalflow.decisions import service
from companyos_approvalflow.decisions.rules import APPROVER_PROBLEMS, AlreadyApprovedByError, ApproverUnchangedError
from companyos_approvalflow.decisions.schemas import Escalation, Information
from companyos_approvalflow.requests.rules import (
    AmountFixedError,
    InformationNotRequestedError,
    InformationOutstandingError,
    InformationUnchangedError,
    RequestFinalError,
    RequestNotFoundError,
    RequestNotSubmittedError,
)
from companyos_approvalflow.requests.schemas import Approval, RequestId
from companyos_approvalflow.requests.service import show
from companyos_shared.framework import CallDep, IfMatch, OperationRouter, StaleVersionError, error_responses

router = OperationRouter(tags=["decisions"])

PROVIDE_PROBLEMS = error_responses(
    RequestNotFoundError,
    StaleVersionError,
    RequestFinalError,
    InformationNotRequestedError,
    *FIELD_PROBLEMS,
    InformationUnchangedError,
    AmountFixedError,
)
ESCALATE_PROBLEMS = error_responses(
    RequestNotFoundError,
    StaleVersionError,
    RequestFinalError,
    InformationOutstandingError,
    RequestNotSubmittedError,
    ApproverUnchangedError,
    *APPROVER_PROBLEMS,
    AlreadyApprovedByError,
)


@router.post("/approvals/{request_id}/information", operation_id="provide_information", responses=PROVIDE_PROBLEMS)
async def provide_information(
    request_id: RequestId, body: Information, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Answer an approver's question about a request.

    The answer is added to the request's thread; the justification stays as submitted. The approver then decides again,
    in office hours. An answer without the information is asked for once more; after the second one the request is
    rejected with `information_not_provided`. Any employee may answer.
    """
    return show(call, service.provide_information(call, request_id, body, if_match))


@router.post("/approvals/{request_id}/escalation", operation_id="escalate_approval", responses=ESCALATE_PROBLEMS)
async def escalate_approval(
    request_id: RequestId, body: Escalation, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Pass a waiting request to another approver.

    Any employee may do this while the request is pending or escalated. The new approver must meet the same conditions
    as at submission, on the day of the escalation.
    """
    return show(call, service.escalate(call, request_id, body, if_match))
