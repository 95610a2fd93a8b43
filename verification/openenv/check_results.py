"""What is printed of a check: one line, with how it ended and what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckOutcome(StrEnum):
    """How a check ended; what could not be looked at is no pass."""

    PASS = "PASS"  # noqa: S105  # no password
    FAIL = "FAIL"
    SKIP = "SKIP"


@dataclass(frozen=True)
class CheckLine:
    """One check of one part."""

    part: str
    check: str
    outcome: CheckOutcome
    details: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}  {self.part:<18} {self.check:<36} {self.details}".rstrip()


def check_line(part: str, check: str, *, holds: bool, details: str) -> CheckLine:
    """Return the line of a check that was looked at."""
    return CheckLine(part, check, CheckOutcome.PASS if holds else CheckOutcome.FAIL, details)
