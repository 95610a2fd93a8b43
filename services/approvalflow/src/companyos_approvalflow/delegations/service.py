"""Service functions of delegations."""

from __future__ import annotations

from sqlalchemy import select

from companyos_approvalflow import tables
from companyos_approvalflow.approval_types.model import ApprovalType
from companyos_approvalflow.approval_types.service import require_type
from companyos_approvalflow.delegations.model import Delegation, read_delegation
from companyos_approvalflow.delegations.rules import (
    DelegationNotFoundError,
    check_may_delegate,
    check_may_revoke,
    check_period,
)
from companyos_approvalflow.delegations.schemas import NewDelegation
from companyos_shared.framework import Call, Page, PageParams, paginate

ID_PREFIX = "DEL-"


def list_delegations(call: Call, page: PageParams, *, from_id: str | None, to_id: str | None) -> Page[Delegation]:
    """Return delegations by start time, including past and revoked ones."""
    columns = tables.delegations.c
    statement = select(tables.delegations)
    if from_id is not None:
        statement = statement.where(columns.from_id == from_id)
    if to_id is not None:
        statement = statement.where(columns.to_id == to_id)
    order = [columns.starts_at, columns.id]
    return paginate(call, statement, page, order_by=order, build=Delegation.model_validate)


def create_delegation(call: Call, body: NewDelegation) -> Delegation:
    """Delegate the caller's authority to a colleague for a period."""
    types = [require_type(call, key) for key in body.type_keys] or _all_types(call)
    check_may_delegate(
        call.company,
        giver_id=body.from_id,
        delegate_id=body.to_id,
        caller_id=call.person,
        roles=_deciding_roles(types),
        now=call.now,
    )
    starts_at = body.starts_at or call.now
    check_period(starts_at, body.ends_at, call.now)
    created = Delegation(
        id=f"{ID_PREFIX}{call.next_number(ID_PREFIX)}",
        from_id=body.from_id,
        to_id=body.to_id,
        type_keys=list(dict.fromkeys(body.type_keys)),
        limit_cents=body.limit_cents,
        starts_at=starts_at,
        ends_at=body.ends_at,
        revoked_at=None,
        created_by=call.person,
    )
    call.db.execute(tables.delegations.insert(), created.model_dump())
    return created


def revoke_delegation(call: Call, delegation_id: str) -> Delegation:
    """Revoke a delegation.

    Raises DelegationNotFoundError (404), DelegationRevokedError or DelegationEndedError (409).
    """
    delegation = read_delegation(call.db, delegation_id)
    if delegation is None:
        raise DelegationNotFoundError(f'no delegation has the id "{delegation_id}"')
    check_may_revoke(delegation, call.now)
    columns = tables.delegations.c
    call.db.execute(tables.delegations.update().where(columns.id == delegation.id).values(revoked_at=call.now))
    return delegation.model_copy(update={"revoked_at": call.now})


def _all_types(call: Call) -> list[ApprovalType]:
    rows = call.db.execute(select(tables.approval_types).order_by(tables.approval_types.c.key))
    return [ApprovalType.model_validate(row) for row in rows]


def _deciding_roles(types: list[ApprovalType]) -> set[str]:
    roles = {threshold.role.value for kind in types for threshold in kind.thresholds}
    return roles | {kind.second_role.value for kind in types if kind.second_role is not None}
