"""Plots return and success of policies by chaos level with 95 % intervals, as a PNG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.extras import require_extra
from companyos.runner.statistics import grouped, return_interval, success_interval

INCHES = (10.0, 4.4)
DOTS_PER_INCH = 150
_MARKERS = "osD^vPX*"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
"""Color palette of Okabe and Ito, which is suitable for color-blind readers."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One policy at one level: a mean and its 95 % interval."""

    level: int
    mean: float
    low: float
    high: float


def return_points(records: Sequence[EpisodeRecord]) -> list[Point]:
    """Return the mean return at each level."""
    return _points(records, lambda record: record.return_, return_interval)


def success_points(records: Sequence[EpisodeRecord]) -> list[Point]:
    """Return the success rate at each level."""
    return _points(records, lambda record: record.success, success_interval)


def _points(
    records: Sequence[EpisodeRecord],
    value: Callable[[EpisodeRecord], float],
    interval: Callable[[Sequence[EpisodeRecord]], tuple[float, float]],
) -> list[Point]:
    points = []
    for level in _levels(records):
        group = [record for record in records if record.chaos == level]
        low, high = interval(group)
        points.append(Point(level=level, mean=sum(map(value, group)) / len(group), low=low, high=high))
    return points


def _levels(records: Sequence[EpisodeRecord]) -> list[int]:
    return sorted({record.chaos for record in records})


def draw_curves(records: Sequence[EpisodeRecord], file: Path, *, title: str) -> None:
    """Plot the curves of every policy in order of first occurrence.

    Raises ImportError without matplotlib, and OSError if the file cannot be written.
    """
    with require_extra("matplotlib", "plots"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    policies = grouped(records, lambda record: record.policy)
    figure = Figure(figsize=INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    returns, successes = figure.subplots(1, 2)
    for number, played in enumerate(policies):
        shift = (number - (len(policies) - 1) / 2) * 0.05
        _draw(returns, return_points(played), played[0].policy, number, shift)
        _draw(successes, success_points(played), played[0].policy, number, shift)
    levels = _levels(records)
    for axes, name in ((returns, "mean return"), (successes, "success")):
        axes.set(xlabel="chaos level", ylabel=name, xticks=levels, xlim=(levels[0] - 0.5, levels[-1] + 0.5))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    successes.set_ylim(-0.04, 1.04)
    successes.yaxis.set_major_formatter(lambda share, _place: f"{share:.0%}")
    figure.legend(*returns.get_legend_handles_labels(), loc="outside lower center", ncols=min(6, len(policies)))
    figure.suptitle(title, fontsize=11)
    figure.savefig(file, dpi=DOTS_PER_INCH, format="png")


def _draw(axes: Any, points: Sequence[Point], policy: str, number: int, shift: float) -> None:
    below = [point.mean - point.low for point in points]
    above = [point.high - point.mean for point in points]
    axes.errorbar(
        [point.level + shift for point in points],
        [point.mean for point in points],
        yerr=[below, above],
        label=policy,
        color=COLOURS[number % len(COLOURS)],
        marker=_MARKERS[number % len(_MARKERS)],
        markersize=5,
        capsize=2,
        linewidth=1.5,
    )
