"""Routes that provide information and escalate requests. Approvers are simulated, so no route makes a decision."""

from __future__ import annotations

from fastapi import APIRouter

from companyos_approvalflow.approval_types.rules import (
    AmountNegative,
    EvidenceInFuture,
    FieldMissing,
    FieldUnknown,
    FieldWrongType,
)
from companyos_approvalflow.decisions import service
from companyos_approvalflow.decisions.rules import APPROVER_PROBLEMS, AlreadyApprovedBy, ApproverUnchanged
from companyos_approvalflow.decisions.schemas import Escalation, Information
from companyos_approvalflow.requests.rules import (
    AmountFixed,
    InformationNotRequested,
    InformationOutstanding,
    InformationUnchanged,
    RequestFinal,
    RequestNotFound,
    RequestNotSubmitted,
)
from companyos_approvalflow.requests.schemas import Approval, RequestId
from companyos_approvalflow.requests.service import show
from companyos_shared.chassis import CallDep, IfMatch, StaleVersion, problems

router = APIRouter(tags=["decisions"])

PROVIDE_PROBLEMS = problems(
    RequestNotFound,
    StaleVersion,
    RequestFinal,
    InformationNotRequested,
    FieldUnknown,
    FieldWrongType,
    FieldMissing,
    AmountNegative,
    EvidenceInFuture,
    InformationUnchanged,
    AmountFixed,
)
ESCALATE_PROBLEMS = problems(
    RequestNotFound,
    StaleVersion,
    RequestFinal,
    InformationOutstanding,
    RequestNotSubmitted,
    ApproverUnchanged,
    *APPROVER_PROBLEMS,
    AlreadyApprovedBy,
)


@router.post("/approvals/{request_id}/information", operation_id="provide_information", responses=PROVIDE_PROBLEMS)
async def provide_information(
    request_id: RequestId, body: Information, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Give an approver the requested information.

    The given fields replace those of the request; the others stay. The approver then decides again.
    """
    return show(call, service.provide_information(call, request_id, body, if_match))


@router.post("/approvals/{request_id}/escalation", operation_id="escalate_approval", responses=ESCALATE_PROBLEMS)
async def escalate_approval(
    request_id: RequestId, body: Escalation, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Pass a waiting request to another approver.

    Any employee may do this. The new approver must be eligible as at submission.
    """
    return show(call, service.escalate(call, request_id, body, if_match))
