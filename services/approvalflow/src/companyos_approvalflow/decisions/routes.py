"""The operations that restart a decision, over HTTP. Deciding itself is the approvers' and has no route."""

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
    request_id: RequestId, given: Information, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Give an approver the information asked for.

    The fields given replace those of the request, the others stay. The approver decides again afterwards.
    """
    return show(call, service.provide_information(call, request_id, given, if_match))


@router.post("/approvals/{request_id}/escalation", operation_id="escalate_approval", responses=ESCALATE_PROBLEMS)
async def escalate_approval(
    request_id: RequestId, wanted: Escalation, call: CallDep, if_match: IfMatch = None
) -> Approval:
    """Put a waiting request to another approver.

    Possible for every employee, to anybody who could have been asked at submission.
    """
    return show(call, service.escalate(call, request_id, wanted, if_match))
