"""Plots return and success of policies by chaos level with 95 % intervals, as a PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.extras import install_command
from companyos.runner.statistics import return_interval, success_interval

INCHES = (10.0, 4.4)
DOTS_PER_INCH = 150
_MARKERS = "osD^vPX*"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
"""Color palette of Okabe and Ito, which is suitable for color-blind readers."""


class PlottingUnavailableError(ImportError):
    """Raised if matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__(f"plotting requires matplotlib: {install_command('plots')}")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One policy at one level: a mean and its 95 % interval."""

    level: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """Return and success of one policy by level."""

    returns: Sequence[Point]
    successes: Sequence[Point]


def return_points(records: Sequence[EpisodeRecord]) -> list[Point]:
    """Return the mean return at each level."""
    return [
        Point(level=level, mean=sum(record.return_ for record in group) / len(group), low=low, high=high)
        for level, group in _by_level(records)
        for low, high in [return_interval(group)]
    ]


def success_points(records: Sequence[EpisodeRecord]) -> list[Point]:
    """Return the success rate at each level."""
    return [
        Point(level=level, mean=sum(record.success for record in group) / len(group), low=low, high=high)
        for level, group in _by_level(records)
        for low, high in [success_interval(group)]
    ]


def curves_of(records: Sequence[EpisodeRecord]) -> dict[str, Curve]:
    """Return the curve of every policy in order of first occurrence."""
    policies = dict.fromkeys(record.policy for record in records)
    own = {policy: [record for record in records if record.policy == policy] for policy in policies}
    return {policy: Curve(return_points(played), success_points(played)) for policy, played in own.items()}


def draw_curves(curves: Mapping[str, Curve], file: Path, *, title: str) -> None:
    """Plot the curves of every policy. Raises PlottingUnavailableError, or OSError if the file cannot be written."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise PlottingUnavailableError from None
    figure = Figure(figsize=INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    returns, successes = figure.subplots(1, 2)
    for number, (policy, curve) in enumerate(curves.items()):
        shift = (number - (len(curves) - 1) / 2) * 0.05
        _draw(returns, curve.returns, policy, number, shift)
        _draw(successes, curve.successes, policy, number, shift)
    levels = sorted({point.level for curve in curves.values() for point in curve.returns})
    for axes, name in ((returns, "mean return"), (successes, "success")):
        axes.set(xlabel="chaos level", ylabel=name, xticks=levels, xlim=(levels[0] - 0.5, levels[-1] + 0.5))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    successes.set_ylim(-0.04, 1.04)
    successes.yaxis.set_major_formatter(lambda share, _place: f"{share:.0%}")
    figure.legend(*returns.get_legend_handles_labels(), loc="outside lower center", ncols=min(6, len(curves)))
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


def _by_level(records: Sequence[EpisodeRecord]) -> list[tuple[int, list[EpisodeRecord]]]:
    levels = sorted({record.chaos for record in records})
    return [(level, [record for record in records if record.chaos == level]) for level in levels]
