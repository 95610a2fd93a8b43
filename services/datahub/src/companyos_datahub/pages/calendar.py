"""The calendar month by month: who is away, and the days on which nobody works."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial

from fastapi.responses import HTMLResponse

from companyos_datahub.calendar.rules import EARLIEST, LATEST, Days
from companyos_datahub.calendar.service import get_calendar
from companyos_datahub.pages.app import PAGES
from companyos_datahub.pages.month import month_of, weeks_of
from companyos_shared.chassis import EVERYTHING, PageCursor, PageText, Showing, rows_from


@PAGES.page("/calendar")
def show_calendar(
    showing: Showing, month: PageText = "", person_id: PageText = "", cursor: PageCursor = None
) -> HTMLResponse:
    """Show a month, of everybody or of one person."""
    call = showing.call
    days = month_of(month, today=call.now.date())
    asked = partial(get_calendar, call, person_id=person_id or None, first=days.first, last=days.last)
    people = sorted(((person.id, person.name) for person in call.company.people), key=lambda one: one[1])
    return showing.page(
        "calendar.html",
        days=days,
        weeks=weeks_of(days, asked(EVERYTHING)),
        found=asked(rows_from(cursor)),
        before=_month(days.first - timedelta(days=1)),
        after=_month(days.last + timedelta(days=1)),
        person_id=person_id,
        people=people,
        cursor=cursor,
    )


def _month(day: date) -> str | None:
    """Return the month of a day as it is asked for, None where the calendar does not reach."""
    return f"{day:%Y-%m}" if Days(EARLIEST, LATEST).overlaps(day, day) else None
