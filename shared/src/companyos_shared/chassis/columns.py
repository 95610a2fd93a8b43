"""Column types for simulated times and dates."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import Text
from sqlalchemy.types import TypeDecorator

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def time_text(moment: datetime) -> str:
    """Return an aware datetime as text in UTC with whole seconds: `2026-03-02T09:15:00Z`."""
    return moment.astimezone(UTC).strftime(_FORMAT)


class SimTime(TypeDecorator[datetime]):
    """A simulated time, stored as ISO text that sorts by time."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> str | None:
        """Convert an aware datetime to text."""
        return None if value is None else time_text(value)

    def process_result_value(self, value: str | None, dialect: Any) -> datetime | None:
        """Convert text to an aware datetime."""
        return None if value is None else datetime.fromisoformat(value)


class SimDate(TypeDecorator[date]):
    """A calendar day, stored as `2026-03-02`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: date | None, dialect: Any) -> str | None:
        """Convert a date to text."""
        return None if value is None else value.isoformat()

    def process_result_value(self, value: str | None, dialect: Any) -> date | None:
        """Convert text to a date."""
        return None if value is None else date.fromisoformat(value)
