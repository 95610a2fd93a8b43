"""The report of a run: SVG charts by chaos level and the table of policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from companyos.contract import EpisodeRecord
from companyos.runner.plots import COLOURS, Point, return_points, success_points
from companyos.runner.statistics import Summary, has_side_effects, summarise

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 16, 56
_POINT_SPACING = 7.0
"""Horizontal distance of two policies at one level, so that their intervals do not overlap."""
_SHARE_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_TICK_STEPS = (1, 2, 5, 10, 20)
_MAX_TICKS = 6
_DASHES = ("", "6 4", "2 3", "9 3 2 3")
"""Dash patterns that distinguish lines of the same colour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """A mean with its interval, in SVG units."""

    x: float
    y: float
    low: float
    high: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """The line of a policy."""

    policy: str
    colour: str
    dash: str
    spots: tuple[ChartPoint, ...]

    @property
    def points(self) -> str:
        """The `points` attribute of the polyline through the means."""
        return " ".join(f"{spot.x:.1f},{spot.y:.1f}" for spot in self.spots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart: lines and the labels of both axes."""

    name: str
    lines: tuple[ChartLine, ...]
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, int], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    floor: int = HEIGHT - BOTTOM


def build_charts(records: Sequence[EpisodeRecord]) -> list[Chart]:
    """Return the charts of success rate and mean return by chaos level."""
    if not records:
        return []
    return [
        _chart("Success", records, success_points, "{:.0%}", "{:.1%}", _SHARE_TICKS),
        _chart("Mean return", records, return_points, "{:.0f}", "{:+.2f}", None),
    ]


def _chart(
    name: str,
    records: Sequence[EpisodeRecord],
    points_of: Callable[[Sequence[EpisodeRecord]], list[Point]],
    tick_format: str,
    value_format: str,
    ticks: Sequence[float] | None,
) -> Chart:
    policies = list(dict.fromkeys(record.policy for record in records))
    points = {policy: points_of([record for record in records if record.policy == policy]) for policy in policies}
    ticks = ticks or _ticks([point for line in points.values() for point in line])
    low, high = ticks[0], ticks[-1]
    levels = sorted({record.chaos for record in records})
    column_width = (WIDTH - LEFT - RIGHT) / len(levels)

    def x(level: int) -> float:
        return LEFT + column_width * (levels.index(level) + 0.5)

    def y(value: float) -> float:
        return TOP + (HEIGHT - BOTTOM - TOP) * (high - min(high, max(low, value))) / (high - low)

    format_value = value_format.format

    def line(number: int, policy: str) -> ChartLine:
        shift = (number - (len(policies) - 1) / 2) * min(_POINT_SPACING, column_width / (len(policies) + 1))
        spots = tuple(
            ChartPoint(
                x=x(point.level) + shift,
                y=y(point.mean),
                low=y(point.low),
                high=y(point.high),
                label=f"{policy}, level {point.level}: {format_value(point.mean)}, "
                f"{format_value(point.low)} to {format_value(point.high)}",
            )
            for point in points[policy]
        )
        dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
        return ChartLine(policy=policy, colour=COLOURS[number % len(COLOURS)], dash=dash, spots=spots)

    return Chart(
        name=name,
        lines=tuple(line(number, policy) for number, policy in enumerate(policies)),
        ticks=tuple((y(value), tick_format.format(value)) for value in ticks),
        levels=tuple((x(level), level) for level in levels),
    )


def _ticks(points: Sequence[Point]) -> list[float]:
    """Return a few round numbers whose range contains zero and all intervals."""
    low = min(0.0, *(point.low for point in points))
    high = max(1.0, *(point.high for point in points))
    step = next((step for step in _TICK_STEPS if (high - low) / step <= _MAX_TICKS), _TICK_STEPS[-1])
    return [step * number for number in range(int(low // step), int(-(-high // step)) + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTableRow:
    """A row of the table: a policy at one level, or at all levels."""

    policy: str
    level: int | None
    summary: Summary
    side_effects: int | None
    """Number of episodes with side effects; None without stored verdicts."""
    judged: int
    """Number of episodes with a stored verdict."""


def build_table_rows(records: Sequence[EpisodeRecord]) -> list[RunTableRow]:
    """Return a row for each policy, followed by a row for each level if there are several."""
    rows = []
    for policy in dict.fromkeys(record.policy for record in records):
        own = [record for record in records if record.policy == policy]
        levels = sorted({record.chaos for record in own})
        rows.append(_row(policy, None if len(levels) > 1 else levels[0], own))
        if len(levels) > 1:
            rows += [_row(policy, level, [record for record in own if record.chaos == level]) for level in levels]
    return rows


def _row(policy: str, level: int | None, records: Sequence[EpisodeRecord]) -> RunTableRow:
    flags = [flag for flag in map(has_side_effects, records) if flag is not None]
    return RunTableRow(
        policy=policy,
        level=level,
        summary=summarise(records),
        side_effects=sum(flags) if flags else None,
        judged=len(flags),
    )
