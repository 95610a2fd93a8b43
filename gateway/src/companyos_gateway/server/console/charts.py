"""Curves over the levels of chaos as lines of an SVG: the figures are the runner's, here they become places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from companyos.contract import EpisodeRecord
from companyos.runner.plots import COLOURS, Point, return_points, success_points

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 16, 56
_SHIFT = 7.0
"""Between the points of two policies at one level, so that their intervals are told apart."""
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_STEPS = (1, 2, 5, 10, 20)
_MOST_TICKS = 6
_DASHES = ("", "6 4", "2 3", "9 3 2 3")
"""One policy's line differs from the next one's where colours come round again, or are not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A mean with its interval, in units of the drawing."""

    x: float
    y: float
    low: float
    high: float
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One policy."""

    policy: str
    colour: str
    dash: str
    spots: tuple[Spot, ...]

    @property
    def points(self) -> str:
        """The line through its means."""
        return " ".join(f"{spot.x:.1f},{spot.y:.1f}" for spot in self.spots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One drawing: lines, and what stands at its two axes."""

    name: str
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, int], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    floor: int = HEIGHT - BOTTOM


def charts_of(records: Sequence[EpisodeRecord]) -> list[Chart]:
    """Return the drawings of success and of the mean return over the levels."""
    if not records:
        return []
    return [
        _chart("Success", records, success_points, "{:.0%}", "{:.1%}", _SHARES),
        _chart("Mean return", records, return_points, "{:.0f}", "{:+.2f}", None),
    ]


def _chart(
    name: str,
    records: Sequence[EpisodeRecord],
    points_of: Callable[[Sequence[EpisodeRecord]], list[Point]],
    axis: str,
    figure: str,
    ticks: Sequence[float] | None,
) -> Chart:
    policies = list(dict.fromkeys(record.policy for record in records))
    points = {name: points_of([record for record in records if record.policy == name]) for name in policies}
    ticks = ticks or _ticks([point for some in points.values() for point in some])
    low, high = ticks[0], ticks[-1]
    levels = sorted({record.chaos for record in records})
    across = (WIDTH - LEFT - RIGHT) / len(levels)

    def x(level: int) -> float:
        return LEFT + across * (levels.index(level) + 0.5)

    def y(value: float) -> float:
        return TOP + (HEIGHT - BOTTOM - TOP) * (high - min(high, max(low, value))) / (high - low)

    told = figure.format

    def line(number: int, policy: str) -> Line:
        shift = (number - (len(policies) - 1) / 2) * min(_SHIFT, across / (len(policies) + 1))
        spots = tuple(
            Spot(
                x=x(point.level) + shift,
                y=y(point.mean),
                low=y(point.low),
                high=y(point.high),
                told=f"{policy}, level {point.level}: {told(point.mean)}, {told(point.low)} to {told(point.high)}",
            )
            for point in points[policy]
        )
        dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
        return Line(policy=policy, colour=COLOURS[number % len(COLOURS)], dash=dash, spots=spots)

    return Chart(
        name=name,
        lines=tuple(line(number, policy) for number, policy in enumerate(policies)),
        ticks=tuple((y(value), axis.format(value)) for value in ticks),
        levels=tuple((x(level), level) for level in levels),
    )


def _ticks(points: Sequence[Point]) -> list[float]:
    """Return round numbers that hold every interval and zero, a few of them."""
    low = min(0.0, *(point.low for point in points))
    high = max(1.0, *(point.high for point in points))
    step = next((step for step in _STEPS if (high - low) / step <= _MOST_TICKS), _STEPS[-1])
    return [step * number for number in range(int(low // step), int(-(-high // step)) + 1)]
