"""Routes of delegations."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from companyos_approvalflow.approval_types.rules import ApprovalTypeNotFoundError
from companyos_approvalflow.delegations import service
from companyos_approvalflow.delegations.model import Delegation
from companyos_approvalflow.delegations.rules import (
    DelegationEndedError,
    DelegationNotFoundError,
    DelegationNotYoursError,
    DelegationRevokedError,
    DelegationToSelfError,
    InvalidDelegationPeriodError,
    NothingToDelegateError,
    UnknownDelegateError,
)
from companyos_approvalflow.delegations.schemas import DelegationId, NewDelegation
from companyos_shared.framework import (
    CallDep,
    IdempotencyKey,
    IdempotencyKeyReusedError,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    error_responses,
)

router = OperationRouter(tags=["delegations"])

PersonFilter = Annotated[str | None, Query(max_length=64)]

CREATE_PROBLEMS = error_responses(
    ApprovalTypeNotFoundError,
    DelegationNotYoursError,
    NothingToDelegateError,
    UnknownDelegateError,
    DelegationToSelfError,
    InvalidDelegationPeriodError,
    IdempotencyKeyReusedError,
)
REVOKE_PROBLEMS = error_responses(DelegationNotFoundError, DelegationRevokedError, DelegationEndedError)


@router.get("/delegations", operation_id="list_delegations", responses=error_responses(InvalidCursorError))
async def list_delegations(
    call: CallDep,
    page: PageQuery,
    from_id: Annotated[PersonFilter, Query(description="ID of the person who delegates.")] = None,
    to_id: Annotated[PersonFilter, Query(description="ID of the delegate.")] = None,
) -> Page[Delegation]:
    """List delegations of approval authority; empty `type_keys` cover every type, a null limit every amount.

    Past, future and revoked delegations are listed as well. Only a delegation in force lets a person decide for
    somebody else; a deputy named in the directory has no authority by that alone.
    """
    return service.list_delegations(call, page, from_id=from_id, to_id=to_id)


@router.post("/delegations", operation_id="create_delegation", status_code=201, responses=CREATE_PROBLEMS)
async def create_delegation(body: NewDelegation, call: CallDep, idempotency_key: IdempotencyKey = None) -> Delegation:
    """Delegate your approval authority to a colleague.

    You can delegate only your own authority, and only if you hold a role that decides one of the types. The period
    starts now or later. A delegate cannot delegate further.
    """
    return service.create_delegation(call, body)


@router.post("/delegations/{delegation_id}/revocation", operation_id="revoke_delegation", responses=REVOKE_PROBLEMS)
async def revoke_delegation(delegation_id: DelegationId, call: CallDep) -> Delegation:
    """Revoke a delegation permanently.

    Any employee may revoke a delegation that has not ended. Only the person whose authority it is can create a new one.
    Requests that wait for the former delegate are then decided without the delegation.
    """
    return service.revoke_delegation(call, delegation_id)
