"""Periods of the company calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from companyos_shared.framework import ServiceError
from companyos_shared.wire.company import Absence, Company, Holiday


@dataclass(frozen=True, slots=True)
class Days:
    """A period from first to last day, both included."""

    first: date
    last: date

    def overlaps(self, first: date, last: date) -> bool:
        """Return whether the periods share a day."""
        return self.first <= last and first <= self.last


DEFAULT_DAYS = 28
MAX_DAYS = 366
EARLIEST = date(1970, 1, 1)
LATEST = date(2199, 12, 31)


class PeriodNotAllowedError(ServiceError):
    status, code, title = 422, "period-not-allowed", "Invalid period"


def period(first: date | None, last: date | None, *, today: date) -> Days:
    """Return the requested period, by default four weeks from today; raises PeriodNotAllowedError (422)."""
    start = first or today
    end = last or start + timedelta(days=DEFAULT_DAYS - 1)
    if not timedelta(0) <= end - start < timedelta(days=MAX_DAYS):
        raise PeriodNotAllowedError(f"the period must have 1 to {MAX_DAYS} days; got {start} to {end}")
    return Days(start, end)


def absences_in(company: Company, days: Days, person_id: str | None) -> list[Absence]:
    """Return the absences in the period, of all people or of one, by first day and id."""
    found = [
        absence
        for absence in company.absences
        if days.overlaps(absence.first_day, absence.last_day) and person_id in (None, absence.person_id)
    ]
    return sorted(found, key=lambda absence: (absence.first_day, absence.id))


def holidays_in(company: Company, days: Days) -> list[Holiday]:
    """Return the holidays in the period, in order."""
    found = [holiday for holiday in company.holidays if days.overlaps(holiday.day, holiday.day)]
    return sorted(found, key=lambda holiday: holiday.day)
