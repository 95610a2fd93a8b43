"""Response schemas of the calendar."""

from __future__ import annotations

from datetime import date, time
from typing import Annotated

from pydantic import Field, WithJsonSchema

from companyos_shared.framework import Page, ResponseModel, example

ClockTime = Annotated[time, WithJsonSchema({"type": "string", "pattern": r"^\d\d:\d\d:\d\d$", "description": "UTC."})]


class AbsenceRow(ResponseModel):
    """An absence of a person, without its reason."""

    person_id: str
    name: str
    first_day: date
    last_day: date = Field(description="Last day of the absence.")


class HolidayRow(ResponseModel):
    """A public holiday."""

    day: date
    name: str


class Calendar(Page[AbsenceRow]):
    """Office hours, holidays and one page of absences in a period."""

    model_config = example(
        first_day="2026-03-02",
        last_day="2026-03-29",
        office_opens="09:00:00",
        office_closes="17:00:00",
        working_weekdays=[0, 1, 2, 3, 4],
        holidays=[],
        items=[
            {
                "person_id": "E-1002",
                "name": "Mara Lindqvist",
                "first_day": "2026-02-26",
                "last_day": "2026-03-06",
            }
        ],
        total=1,
        next_cursor=None,
    )

    first_day: date
    last_day: date
    office_opens: ClockTime
    office_closes: ClockTime
    working_weekdays: list[int] = Field(description="0 is Monday.")
    holidays: list[HolidayRow]
