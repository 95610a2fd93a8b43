"""What is printed of a check: one line, with how it ended and what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """How a check ended; what could not be looked at is no pass."""

    PASS = "PASS"  # noqa: S105  # no password
    FAIL = "FAIL"
    SKIP = "SKIP"


@dataclass(frozen=True)
class Line:
    """One check of one part."""

    part: str
    check: str
    ending: Ending
    says: str = ""

    def __str__(self) -> str:
        return f"{self.ending}  {self.part:<18} {self.check:<36} {self.says}".rstrip()


def judged(part: str, check: str, *, holds: bool, says: str) -> Line:
    """Return the line of a check that was looked at."""
    return Line(part, check, Ending.PASS if holds else Ending.FAIL, says)
