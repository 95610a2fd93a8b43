"""Routes of approval types."""

from __future__ import annotations

from companyos_approvalflow.approval_types import service
from companyos_approvalflow.approval_types.rules import ApprovalTypeNotFoundError
from companyos_approvalflow.approval_types.schemas import ApprovalType, ApprovalTypeRow, TypeKey
from companyos_shared.framework import CallDep, InvalidCursorError, OperationRouter, Page, PageQuery, error_responses

router = OperationRouter(tags=["approval types"])


@router.get("/approval-types", operation_id="list_approval_types", responses=error_responses(InvalidCursorError))
async def list_approval_types(call: CallDep, page: PageQuery) -> Page[ApprovalTypeRow]:
    """List approval types."""
    return service.list_types(call, page)


@router.get(
    "/approval-types/{type_key}", operation_id="get_approval_type", responses=error_responses(ApprovalTypeNotFoundError)
)
async def get_approval_type(type_key: TypeKey, call: CallDep) -> ApprovalType:
    """Get the fields, approver roles and limits of a type."""
    return service.show_type(call, type_key)
