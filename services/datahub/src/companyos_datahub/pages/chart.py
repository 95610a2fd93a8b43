"""Line chart of a metric's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from companyos_datahub.metrics.schemas import EarlierValue

WIDTH, HEIGHT = 640, 250
SIDE, TOP, BOTTOM = 12, 32, 66
MIN_POINTS = 2


@dataclass(frozen=True, slots=True)
class Point:
    """A value and its position in the drawing."""

    x: float
    y: float
    value: float
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Chart:
    """Values over time, oldest first."""

    points: tuple[Point, ...]

    width = WIDTH
    height = HEIGHT
    side = SIDE
    floor = HEIGHT - BOTTOM

    @property
    def line(self) -> str:
        """The points of an SVG polyline."""
        return " ".join(f"{point.x},{point.y}" for point in self.points)

    @property
    def first(self) -> Point:
        """The oldest value."""
        return self.points[0]

    @property
    def last(self) -> Point:
        """The newest value."""
        return self.points[-1]

    @property
    def lowest(self) -> Point:
        """The lowest value; the newest one if several are equal."""
        return min(reversed(self.points), key=lambda point: point.value)

    @property
    def highest(self) -> Point:
        """The highest value; the newest one if several are equal."""
        return max(reversed(self.points), key=lambda point: point.value)


def chart_of(values: Sequence[EarlierValue]) -> Chart | None:
    """Return the chart of values in any order, or None for fewer than two values."""
    if len(values) < MIN_POINTS:
        return None
    ordered = sorted(values, key=lambda value: value.as_of)
    start, span = ordered[0].as_of, ordered[-1].as_of - ordered[0].as_of
    lowest = min(value.value for value in ordered)
    height = max(value.value for value in ordered) - lowest
    return Chart(
        tuple(
            Point(
                x=_across((value.as_of - start) / span if span > timedelta(0) else 0.5),
                y=_up((value.value - lowest) / height if height > 0 else 0.5),
                value=value.value,
                as_of=value.as_of,
            )
            for value in ordered
        )
    )


def _across(share: float) -> float:
    return round(SIDE + share * (WIDTH - 2 * SIDE), 1)


def _up(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)
