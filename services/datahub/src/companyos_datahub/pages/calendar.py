"""Calendar page by month, with absences and holidays."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from fastapi.responses import HTMLResponse

from companyos_datahub.calendar.rules import EARLIEST, LATEST, Days, PeriodNotAllowedError
from companyos_datahub.calendar.schemas import AbsenceRow, Calendar
from companyos_datahub.calendar.service import get_calendar
from companyos_datahub.pages.app import PAGES
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


_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])", re.ASCII)
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDay:
    """A day of the month, or of an adjacent month in the same week."""

    day: date
    is_in_month: bool
    is_working: bool
    holidays: tuple[str, ...]
    away: tuple[AbsenceRow, ...]


def month_of(text: str, *, today: date) -> Days:
    """Return the month of a text like `2026-03`, by default the current month; raises PeriodNotAllowedError (422)."""
    match = _MONTH.fullmatch(text or f"{today:%Y-%m}")
    year = 0 if match is None else int(match[1])
    if match is None or not EARLIEST.year <= year <= LATEST.year:
        raise PeriodNotAllowedError(f'month must be {EARLIEST:%Y-%m} to {LATEST:%Y-%m}; got "{text}"')
    month = int(match[2])
    return Days(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def weeks_of(month: Days, calendar: Calendar) -> list[list[CalendarDay]]:
    """Return the weeks of a month, Monday first, each of seven days."""
    monday = month.first - timedelta(days=month.first.weekday())
    weeks = []
    while monday <= month.last:
        weeks.append([_day(monday + timedelta(days=ahead), month, calendar) for ahead in range(7)])
        monday += _WEEK
    return weeks


def _day(day: date, month: Days, calendar: Calendar) -> CalendarDay:
    is_in_month = month.overlaps(day, day)
    holidays = tuple(holiday.name for holiday in calendar.holidays if holiday.day == day)
    away = tuple(row for row in calendar.items if is_in_month and row.first_day <= day <= row.last_day)
    is_working = day.weekday() in calendar.working_weekdays and not holidays
    return CalendarDay(day=day, is_in_month=is_in_month, is_working=is_working, holidays=holidays, away=away)
