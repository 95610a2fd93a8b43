"""A stretch of days on the company's calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Days:
    """From a day to a day, both included."""

    first: date
    last: date

    def overlaps(self, first: date, last: date) -> bool:
        """Say whether the two stretches share a day."""
        return self.first <= last and first <= self.last
