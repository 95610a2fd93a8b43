"""Durations of steps, which journals do not contain."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import isnan, nan


@dataclass(slots=True)
class StepTimes:
    """The durations of an episode's steps that this process took."""

    _milliseconds: array[float] = field(default_factory=lambda: array("f"))

    def record(self, number: int, milliseconds: float) -> None:
        """Record a step."""
        self._milliseconds.extend([nan] * (number - len(self._milliseconds)))
        self._milliseconds[number - 1] = milliseconds

    def milliseconds(self, number: int) -> float | None:
        """Return the duration of a step, None if it was not measured."""
        value = self._milliseconds[number - 1] if number <= len(self._milliseconds) else nan
        return None if isnan(value) else round(value, 1)
