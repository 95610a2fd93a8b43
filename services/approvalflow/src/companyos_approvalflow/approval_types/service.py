"""Service functions of approval types."""

from __future__ import annotations

from sqlalchemy import select

from companyos_approvalflow import tables
from companyos_approvalflow.approval_types.model import ApprovalType, ApprovalTypeRow, read_type
from companyos_approvalflow.approval_types.rules import ApprovalTypeNotFoundError
from companyos_shared.framework import Call, Page, PageParams, paginate
from companyos_shared.framework.errors import shortened


def list_types(call: Call, page: PageParams) -> Page[ApprovalTypeRow]:
    """Return the approval types by key."""
    columns = tables.approval_types.c
    statement = select(columns.key, columns.title, columns.policy_ref)
    return paginate(call, statement, page, order_by=[columns.key], build=ApprovalTypeRow.model_validate)


def require_type(call: Call, key: str) -> ApprovalType:
    """Return the approval type; raises ApprovalTypeNotFoundError (404)."""
    approval_type = read_type(call.db, key)
    if approval_type is None:
        keys = call.db.execute(select(tables.approval_types.c.key).order_by(tables.approval_types.c.key)).scalars()
        raise ApprovalTypeNotFoundError(f"type_key must be one of {', '.join(keys)}; got {shortened(key)}")
    return approval_type
