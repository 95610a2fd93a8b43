"""Routes of people."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from companyos_datahub.people import service
from companyos_datahub.people.rules import PersonNotFoundError
from companyos_datahub.people.schemas import Approver, PersonDetail, PersonRow
from companyos_shared.framework import (
    CallDep,
    InvalidCursorError,
    OperationRouter,
    Page,
    PageQuery,
    QueryBlankError,
    error_responses,
)
from companyos_shared.wire.company import Role

router = OperationRouter(tags=["people"])


@router.get("/people", operation_id="search_people", responses=error_responses(QueryBlankError, InvalidCursorError))
async def search_people(
    page: PageQuery,
    call: CallDep,
    query: Annotated[str | None, Query(max_length=200, description="Words or beginnings of words.")] = None,
    role: Annotated[Role | None, Query(description="Only people who hold this role today.")] = None,
    team_id: Annotated[str | None, Query(description="ID of the team.")] = None,
) -> Page[PersonRow]:
    """Find people by words, role held today or team, best match first; includes former employees.

    Words are searched in name, title, team and e-mail address; they match whole words and their beginnings.
    """
    return service.search_people(call, page, query=query or None, role=role, team_id=team_id)


@router.get("/people/{person_id}", operation_id="get_person", responses=error_responses(PersonNotFoundError))
async def get_person(person_id: Annotated[str, Path(description="ID of the person.")], call: CallDep) -> PersonDetail:
    """Show a person: team, manager, employment, absence today and roles."""
    return service.get_person(call, person_id)


@router.get("/approvers/{role}", operation_id="get_approver")
async def get_approver(role: Annotated[Role, Path(description="Role, such as cfo.")], call: CallDep) -> Approver:
    """Show the holders of a role today and their absences; being a deputy gives no authority to decide.

    A deputy is the person to contact during an absence. Approvals are decided by holders of the role, and by people
    with a valid delegation in ApprovalFlow.
    """
    return service.get_approver(call, role)
