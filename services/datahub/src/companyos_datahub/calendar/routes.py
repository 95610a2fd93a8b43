"""Route of the calendar."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import Query
from pydantic import Field

from companyos_datahub.calendar import service
from companyos_datahub.calendar.rules import EARLIEST, LATEST, PeriodNotAllowedError
from companyos_datahub.calendar.schemas import Calendar
from companyos_datahub.people.rules import PersonNotFoundError
from companyos_shared.framework import (
    CallDep,
    InvalidCursorError,
    IsoDateText,
    OperationRouter,
    PageQuery,
    error_responses,
)

router = OperationRouter(tags=["calendar"])
Day = Annotated[date, Field(ge=EARLIEST, le=LATEST), IsoDateText]
_ACCEPTED = f"{EARLIEST} to {LATEST}"


@router.get(
    "/calendar",
    operation_id="get_calendar",
    responses=error_responses(PersonNotFoundError, PeriodNotAllowedError, InvalidCursorError),
)
async def get_calendar(
    page: PageQuery,
    call: CallDep,
    person_id: Annotated[str | None, Query(description="Only absences of this person.")] = None,
    first: Annotated[
        Day | None, Query(alias="from", description=f"First day, such as 2026-03-31; accepted: {_ACCEPTED}.")
    ] = None,
    last: Annotated[Day | None, Query(alias="to", description=f"Last day, included; accepted: {_ACCEPTED}.")] = None,
) -> Calendar:
    """Show absences, public holidays and office hours, by default for the next four weeks."""
    return service.get_calendar(call, page, person_id=person_id, first=first, last=last)
