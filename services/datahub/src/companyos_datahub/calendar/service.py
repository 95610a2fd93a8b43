"""Service functions of the calendar."""

from __future__ import annotations

from datetime import date

from companyos_datahub.calendar.rules import absences_in, holidays_in, period
from companyos_datahub.calendar.schemas import AbsenceRow, Calendar, HolidayRow
from companyos_datahub.people.service import load_person
from companyos_shared.framework import Call, PageParams, paginate_sequence
from companyos_shared.wire.company import Absence


def get_calendar(
    call: Call, page: PageParams, *, person_id: str | None, first: date | None, last: date | None
) -> Calendar:
    """Return holidays, absences and office hours in a period."""
    days = period(first, last, today=call.now.date())
    if person_id is not None:
        load_person(call, person_id)
    absences = absences_in(call.company, days, person_id)
    return Calendar(
        **dict(paginate_sequence(absences, page, build=lambda absence: _row(call, absence))),
        first_day=days.first,
        last_day=days.last,
        office_opens=call.company.office_opens,
        office_closes=call.company.office_closes,
        working_weekdays=list(call.company.working_weekdays),
        holidays=[HolidayRow.model_validate(holiday) for holiday in holidays_in(call.company, days)],
    )


def _row(call: Call, absence: Absence) -> AbsenceRow:
    return AbsenceRow(
        person_id=absence.person_id,
        name=load_person(call, absence.person_id).name,
        first_day=absence.first_day,
        last_day=absence.last_day,
    )
