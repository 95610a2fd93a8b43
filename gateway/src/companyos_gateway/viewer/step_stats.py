"""Statistics of steps that journals do not contain: duration and changed checks."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import isnan, nan

from companyos.viewer import Turned
from companyos_gateway.evaluation import Verdict


@dataclass(slots=True)
class StepStats:
    """The statistics of an episode's steps that this process took."""

    _milliseconds: array[float] = field(default_factory=lambda: array("f"))
    _turned: dict[int, tuple[Turned, ...]] = field(default_factory=dict)

    def record(self, number: int, milliseconds: float, before: Verdict, now: Verdict) -> None:
        """Record a step with the verdicts before and after it."""
        self._milliseconds.extend([nan] * (number - len(self._milliseconds)))
        self._milliseconds[number - 1] = milliseconds
        self._turned.pop(number, None)
        if now is not before and (turned := _turned(before, now)):
            self._turned[number] = turned

    def milliseconds(self, number: int) -> float | None:
        """Return the duration of a step, None if it was not measured."""
        value = self._milliseconds[number - 1] if number <= len(self._milliseconds) else nan
        return None if isnan(value) else round(value, 1)

    def turned(self, number: int) -> list[Turned]:
        """Return the checks whose result changed with a step."""
        return list(self._turned.get(number, ()))


def _turned(before: Verdict, now: Verdict) -> tuple[Turned, ...]:
    passed = {check.id: check.passed for check in before.checks}
    return tuple(
        Turned(id=check.id, passed=check.passed)
        for check in now.checks
        if passed.get(check.id, check.passed) is not check.passed
    )
