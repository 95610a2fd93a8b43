"""Calendar page by month, with absences and holidays."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial

from fastapi.responses import HTMLResponse

from companyos_datahub.calendar.rules import EARLIEST, LATEST, Days
from companyos_datahub.calendar.service import get_calendar
from companyos_datahub.pages.app import PAGES
from companyos_datahub.pages.month import month_of, weeks_of
from companyos_shared.framework import ALL_ROWS, PageCursor, PageText, PageView, page_params


@PAGES.page("/calendar")
def show_calendar(
    view: PageView, month: PageText = "", person_id: PageText = "", cursor: PageCursor = None
) -> HTMLResponse:
    """Show a month of all people or of one person."""
    call = view.call
    days = month_of(month, today=call.now.date())
    calendar = partial(get_calendar, call, person_id=person_id or None, first=days.first, last=days.last)
    people = sorted(((person.id, person.name) for person in call.company.people), key=lambda choice: choice[1])
    return view.page(
        "calendar.html",
        days=days,
        weeks=weeks_of(days, calendar(ALL_ROWS)),
        found=calendar(page_params(cursor)),
        before=_month(days.first - timedelta(days=1)),
        after=_month(days.last + timedelta(days=1)),
        person_id=person_id,
        people=people,
        cursor=cursor,
    )


def _month(day: date) -> str | None:
    """Return the month of a day as a query value, or None outside the calendar."""
    return f"{day:%Y-%m}" if Days(EARLIEST, LATEST).overlaps(day, day) else None
