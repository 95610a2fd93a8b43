"""Curves: return and success of policies over the levels of chaos, with their 95 % intervals, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.runner.statistics import return_interval, success_interval

INCHES = (10.0, 4.4)
DOTS_PER_INCH = 150
_MARKERS = "osD^vPX*"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
"""Okabe and Ito's colours, which everybody can tell apart."""


class NoPlots(ImportError):
    """Raised where nothing can be drawn with."""

    def __init__(self) -> None:
        super().__init__("drawing needs matplotlib: pip install 'companyos[plots]'")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One policy at one level: a mean and its 95 % interval."""

    level: int
    mean: float
    low: float
    high: float


def return_points(records: Sequence[EpisodeRecord]) -> list[Point]:
    """Return the mean return at each level."""
    return [
        Point(level=level, mean=sum(one.return_ for one in group) / len(group), low=low, high=high)
        for level, group in _by_level(records)
        for low, high in [return_interval(group)]
    ]


def success_points(records: Sequence[EpisodeRecord]) -> list[Point]:
    """Return the share of successes at each level."""
    return [
        Point(level=level, mean=sum(one.success for one in group) / len(group), low=low, high=high)
        for level, group in _by_level(records)
        for low, high in [success_interval(group)]
    ]


def draw_curves(records: Sequence[EpisodeRecord], file: Path, *, title: str) -> None:
    """Draw both curves of every policy. Raises NoPlots, or OSError for a file that cannot be written."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise NoPlots from None
    figure = Figure(figsize=INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    returns, successes = figure.subplots(1, 2)
    policies = list(dict.fromkeys(record.policy for record in records))
    for number, policy in enumerate(policies):
        own = [record for record in records if record.policy == policy]
        shift = (number - (len(policies) - 1) / 2) * 0.05
        _draw(returns, return_points(own), policy, number, shift)
        _draw(successes, success_points(own), policy, number, shift)
    levels = sorted({record.chaos for record in records})
    for axes, name in ((returns, "mean return"), (successes, "success")):
        axes.set(xlabel="level of chaos", ylabel=name, xticks=levels)
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


def _by_level(records: Sequence[EpisodeRecord]) -> list[tuple[int, list[EpisodeRecord]]]:
    levels = sorted({record.chaos for record in records})
    return [(level, [record for record in records if record.chaos == level]) for level in levels]
