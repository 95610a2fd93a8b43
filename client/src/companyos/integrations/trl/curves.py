"""Learning curves: reads a trainer's log and plots the stages of learning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companyos.extras import require_extra

Point = Mapping[str, float]

INCHES = (12.0, 3.4)
DOTS_PER_INCH = 150
SMOOTHED_OVER = 5
"""Window of the moving average (thick line), in steps; the thin line shows each step."""

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Color palette of Okabe and Ito, which is suitable for color-blind readers."""


@dataclass(frozen=True)
class Panel:
    """One panel of the figure: a metric of the log and its title."""

    figure: str
    title: str
    is_share: bool = False


PANELS = (
    Panel("reward", "return"),
    Panel("stages/invalid_calls", "1. invalid calls stop", is_share=True),
    Panel("stages/milestones", "2. the right app for each subtask: milestones"),
    Panel("stages/success", "3. whole workflows", is_share=True),
)


def read_curve(file: Path) -> list[dict[str, float]]:
    """Return the metrics of each training step from a log: reward, stages of learning, entropy in nats."""
    lines = (json.loads(line) for line in file.read_bytes().splitlines())
    named = {panel.figure for panel in PANELS} | {"step", "stages/steps", "entropy"}
    return [{name: line[name] for name in sorted(named & set(line))} for line in lines if "reward" in line]


def draw_curves(curves: Mapping[str, Sequence[Point]], file: Path, *, title: str) -> None:
    """Plot the curves of one or more trainings side by side, in the format of the file suffix."""
    with require_extra("matplotlib", "plots"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    figure = Figure(figsize=INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, panel in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        for (name, points), colour in zip(curves.items(), _COLOURS, strict=False):
            _draw(axes, points, panel, name, colour)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel("GRPO step", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if panel.is_share:
            axes.set_ylim(-0.04, 1.04)
            axes.yaxis.set_major_formatter(lambda share, _place: f"{share:.0%}")
    if len(curves) > 1:
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(curves), fontsize=8)
    figure.suptitle(title, fontsize=10)
    figure.savefig(file, dpi=DOTS_PER_INCH)


def _draw(axes: Any, points: Sequence[Point], panel: Panel, name: str, colour: str) -> None:
    steps = [point["step"] for point in points]
    values = [point[panel.figure] for point in points]
    axes.plot(steps, values, color=colour, alpha=0.3, linewidth=0.8)
    axes.plot(steps, _smooth(values), color=colour, linewidth=1.8, label=name)


def _smooth(values: Sequence[float]) -> list[float]:
    """Return the trailing moving average of the values."""
    windows = [values[max(0, end - SMOOTHED_OVER) : end] for end in range(1, len(values) + 1)]
    return [sum(window) / len(window) for window in windows]
