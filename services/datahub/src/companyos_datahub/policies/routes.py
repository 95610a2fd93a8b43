"""Routes of policies."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from companyos_datahub.policies import service
from companyos_datahub.policies.rules import PolicyNotFoundError, PolicyNotInForceError
from companyos_datahub.policies.schemas import PolicyDetail, PolicyRow
from companyos_shared.framework import (
    CallDep,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    QueryBlankError,
    error_responses,
)

router = OperationRouter(tags=["policies"])


@router.get("/policies", operation_id="search_policies", responses=error_responses(QueryBlankError, InvalidCursorError))
async def search_policies(
    page: PageQuery,
    call: CallDep,
    query: Annotated[str | None, Query(max_length=200, description="Words or beginnings of words.")] = None,
    topic: Annotated[str | None, Query(description="Topic, such as procurement.")] = None,
) -> Page[PolicyRow]:
    """Find policy versions by words or topic, in force or not.

    Words are searched in title, topic and text; they match whole words and their beginnings, best match first.
    """
    return service.search_policies(call, page, query=query or None, topic=topic)


@router.get(
    "/policies/{policy_id}",
    operation_id="get_policy",
    responses=error_responses(PolicyNotFoundError, PolicyNotInForceError),
)
async def get_policy(
    policy_id: Annotated[str, Path(description="ID of the policy.")],
    call: CallDep,
    version: Annotated[int | None, Query(ge=1, le=9999, description="Number of a version.")] = None,
) -> PolicyDetail:
    """Show the text and figures of a policy, by default of the version in force today."""
    return service.get_policy(call, policy_id, version=version)
