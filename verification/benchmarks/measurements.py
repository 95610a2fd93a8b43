"""Named measurements with unit, ratio to the bare echo and target."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """One measurement. `ratio` is relative to the bare echo of the same kind; `target` is the accepted limit."""

    name: str
    value: float
    unit: str
    ratio: float | None = None
    target: str = ""


@dataclass
class Measurements:
    """All measurements of a run, in order."""

    all: list[Measurement] = field(default_factory=list)

    def add(self, name: str, value: float, unit: str, *, echo: float | None = None, target: str = "") -> None:
        """Add a measurement. Its ratio is computed if `echo` gives the value of the bare echo."""
        ratio = None if echo is None else round(value / echo, 2)
        self.all.append(Measurement(name, round(value, 3), unit, ratio, target))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the measurements as JSON."""
        return [asdict(measurement) for measurement in self.all]


def p50_us(seconds: list[float]) -> float:
    """Return the median in microseconds."""
    return median(seconds) * 1e6
