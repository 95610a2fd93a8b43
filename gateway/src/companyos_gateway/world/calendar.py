"""The company's start date, holidays, and arithmetic with working days."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import UTC, date, datetime, time, timedelta
from functools import cache

from companyos_gateway.world.pools import pool
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Holiday

FIRST_START = date(2026, 1, 12)
START_DAYS = 620
"""Episodes start on a working day, drawn up to this many days after FIRST_START."""

MORNING_MINUTES = 90
"""Latest start, in minutes after the office opens."""

MORNING_GRID_MINUTES = 5
OFFICE_OPENS = time(9, 0)
OFFICE_MINUTES = 8 * 60
WEEKEND = (5, 6)
_OPENS_UTC = OFFICE_OPENS.replace(tzinfo=UTC)
_MINUTE = timedelta(minutes=1)


def draw_start_time(stream: Stream) -> datetime:
    """Draw a start time on the morning of a working day."""
    day = FIRST_START + timedelta(days=stream.integer(0, START_DAYS))
    while not is_working_day(day):
        day += timedelta(days=1)
    minutes = MORNING_GRID_MINUTES * stream.integer(0, MORNING_MINUTES // MORNING_GRID_MINUTES)
    return datetime.combine(day, OFFICE_OPENS, tzinfo=UTC) + timedelta(minutes=minutes)


def holidays_around(day: date) -> list[Holiday]:
    """Return the holidays of the year of `day` and of the adjacent years."""
    return [holiday for year in (day.year - 1, day.year, day.year + 1) for holiday in _holidays_of(year)]


@cache
def _holidays_of(year: int) -> tuple[Holiday, ...]:
    entries = pool("people")["holidays"]
    return tuple(Holiday(day=date(year, entry["month"], entry["day"]), name=entry["name"]) for entry in entries)


def is_working_day(day: date) -> bool:
    """Return whether a day is a working day."""
    return day.weekday() not in WEEKEND and (day.month, day.day) not in _HOLIDAYS


def working_days_from(day: date, count: int) -> date:
    """Return the working day `count` working days after `day`, or before it if the count is negative."""
    if count == 0:
        return day
    index = bisect_right(_WORKING_DAYS, day) - 1 if count > 0 else bisect_left(_WORKING_DAYS, day)
    return _WORKING_DAYS[index + count]


def days_from(day: date, count: int) -> date:
    """Return the day `count` calendar days after `day`, or before it if the count is negative."""
    return day + timedelta(days=count)


def draw_office_time(stream: Stream, day: date) -> datetime:
    """Draw a time in the office hours of a day, to the minute."""
    return _office_time(day, stream.integer(0, OFFICE_MINUTES - 1))


def is_office_time(moment: datetime) -> bool:
    """Return whether the office is open at that moment."""
    return is_working_day(moment.date()) and OFFICE_OPENS <= moment.time() < closing_time(moment.date()).time()


def draw_office_moments(stream: Stream, after: datetime, before: datetime, count: int = 1) -> list[datetime]:
    """Draw distinct minutes of office hours between two moments, both excluded, in ascending order.

    If there are not enough of them, return the minutes that follow the first moment.
    """
    if count == 0:
        return []
    first, last = _office_minute(after) + 1, _office_minute(before - _MINUTE)
    if last - first + 1 < count:
        return [after + number * _MINUTE for number in range(1, count + 1)]
    return [_at_office_minute(minute) for minute in sorted(stream.distinct(first, last, count))]


def format_time(moment: datetime) -> str:
    """Return an aware UTC datetime as the services write it: `2026-03-02T09:15:00Z`."""
    return f"{moment.isoformat()[:19]}Z"


def closing_time(day: date) -> datetime:
    """Return the closing time of the office on that day."""
    return _office_time(day, OFFICE_MINUTES)


def _office_time(day: date, minutes: int) -> datetime:
    """Return the time that many minutes after the office opens on a day."""
    return datetime.combine(day, _OPENS_UTC) + minutes * _MINUTE


def _office_minute(moment: datetime) -> int:
    """Return the index of the last office minute that has started by a moment, counted over all working days."""
    day = moment.date()
    index = bisect_left(_WORKING_DAYS, day)
    minutes = (moment.hour - OFFICE_OPENS.hour) * 60 + moment.minute if is_working_day(day) else -1
    return index * OFFICE_MINUTES + max(-1, min(minutes, OFFICE_MINUTES - 1))


def _at_office_minute(minute: int) -> datetime:
    return _office_time(_WORKING_DAYS[minute // OFFICE_MINUTES], minute % OFFICE_MINUTES)


_HOLIDAYS = frozenset((entry["month"], entry["day"]) for entry in pool("people")["holidays"])
_ALL_DAYS = (date(FIRST_START.year - 3, 1, 1) + timedelta(days=days) for days in range(3 * 366 + START_DAYS + 3 * 366))
_WORKING_DAYS = tuple(day for day in _ALL_DAYS if is_working_day(day))
