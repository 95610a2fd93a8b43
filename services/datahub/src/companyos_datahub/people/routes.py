"""Routes of people."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from companyos_datahub.people import service
from companyos_datahub.people.rules import PersonNotFoundError
from companyos_datahub.people.schemas import Approver, PersonDetail, PersonRow
from companyos_shared.framework import CallDep, Page, PageQuery, QueryBlankError, error_responses
from companyos_shared.wire.company import Role

router = APIRouter(tags=["people"])


@router.get("/people", operation_id="search_people", responses=error_responses(QueryBlankError))
async def search_people(
    page: PageQuery,
    call: CallDep,
    query: Annotated[str | None, Query(max_length=200)] = None,
    role: Role | None = None,
    team_id: str | None = None,
) -> Page[PersonRow]:
    """Find people by words, role held today or team, best match first.

    Words are searched in name, title, team and e-mail address; they match whole words and their beginnings. The result
    includes former employees.
    """
    return service.search_people(call, page, query=query or None, role=role, team_id=team_id)


@router.get("/people/{person_id}", operation_id="get_person", responses=error_responses(PersonNotFoundError))
async def get_person(person_id: str, call: CallDep) -> PersonDetail:
    """Show a person: team, manager, employment, roles."""
    return service.get_person(call, person_id)


@router.get("/approvers/{role}", operation_id="get_approver")
async def get_approver(role: Role, call: CallDep) -> Approver:
    """Show the holders of a role today, with absence and deputy."""
    return service.get_approver(call, role)
