"""Check results: one line with outcome and measurement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckOutcome(StrEnum):
    """The outcome of a check; a check that could not run counts as not passed."""

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
    """Return the line of a check that was run."""
    return CheckLine(part, check, CheckOutcome.PASS if holds else CheckOutcome.FAIL, details)
