"""Routes of approval types."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from companyos_approvalflow.approval_types import service
from companyos_approvalflow.approval_types.model import ApprovalType, ApprovalTypeRow
from companyos_approvalflow.approval_types.rules import ApprovalTypeNotFoundError
from companyos_shared.framework import CallDep, InvalidCursorError, OperationRouter, Page, PageQuery, error_responses

router = OperationRouter(tags=["approval types"])

TypeKey = Annotated[str, Path(max_length=64, examples=["vendor_onboarding"], description="Key of the approval type.")]


@router.get("/approval-types", operation_id="list_approval_types", responses=error_responses(InvalidCursorError))
async def list_approval_types(call: CallDep, page: PageQuery) -> Page[ApprovalTypeRow]:
    """List approval types."""
    return service.list_types(call, page)


@router.get(
    "/approval-types/{type_key}", operation_id="get_approval_type", responses=error_responses(ApprovalTypeNotFoundError)
)
async def get_approval_type(type_key: TypeKey, call: CallDep) -> ApprovalType:
    """Get the fields, approver roles and limits of a type."""
    return service.require_type(call, type_key)
