"""Writes results/learning.md, .png and .json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from companyos.integrations.trl.curves import draw_curves
from verification.benchmarks.learning.training_run import (
    CHAOS,
    HELD_OUT,
    SCENARIO,
    SEEDS,
    SHOWN,
    STAGES,
    TRAINED,
    mean_interval,
)

Figures = Mapping[str, Any]

NAME = "learning"

_ROSE = "rose with an interval above zero"

_TEXT = Path(__file__).with_name("page.txt")


def write_page(figures: Sequence[Figures], demonstrations: int, folder: Path) -> None:
    """Write the page, its plot and its figures."""
    curves = {f"seed {one['seed']}": one["curve"] for one in figures}
    draw_curves(curves, folder / f"{NAME}.png", title=f"{SCENARIO}, chaos {CHAOS}: GRPO after a warm start")
    (folder / f"{NAME}.json").write_text(json.dumps(list(figures)) + "\n", encoding="utf-8")
    settings = figures[0]["settings"]
    groups = settings["batch"] // settings["generations"]
    minutes = sorted(round(seed_figures["seconds"] / 60) for seed_figures in figures)
    text = _TEXT.read_text(encoding="utf-8").format(
        **settings,
        name=NAME,
        parameters=figures[0]["parameters"],
        verdict=verdict(figures),
        rows="\n".join(_row(seed_figures) for seed_figures in figures),
        episodes=figures[0]["before"]["episodes"],
        scenario=SCENARIO,
        chaos=CHAOS,
        seeds=", ".join(map(str, SEEDS)),
        shown=_range(SHOWN),
        trained=_range(TRAINED[: settings["steps"] // settings["rollouts_used"] * groups]),
        groups=groups,
        held_out=_range(HELD_OUT),
        demonstrations=demonstrations,
        minutes=f"{minutes[0]} to {minutes[-1]} minutes",
    )
    (folder / f"{NAME}.md").write_text(text, encoding="utf-8")


def verdict(figures: Sequence[Figures]) -> str:
    """Return a sentence that states whether GRPO raised the return."""
    rose = sum(difference(seed_figures)[1] > 0 for seed_figures in figures)
    if not any(seed_figures["after"]["successes"] for seed_figures in figures):
        return f"The return {_ROSE} for {rose} of {len(figures)} seeds, and no episode succeeded."
    taken = f"Over all seeds it changed by {_mean(*combined_difference(figures))}"
    return f"With GRPO the return of held-out episodes {_ROSE} for {rose} of {len(figures)} seeds.\n{taken}."


def difference(one: Figures) -> tuple[float, float, float]:
    """Return the paired difference in return of the same episodes, with its interval."""
    return mean_interval([after - before for before, after in _pairs(one)])


def combined_difference(figures: Sequence[Figures]) -> tuple[float, float, float]:
    """Return the mean paired difference over all seeds, with an interval over episodes."""
    gains = [[after - before for before, after in _pairs(seed_figures)] for seed_figures in figures]
    return mean_interval([sum(of_one) / len(of_one) for of_one in zip(*gains, strict=True)])


def _pairs(one: Figures) -> Iterator[tuple[float, float]]:
    return zip(one["before"]["returns"], one["after"]["returns"], strict=True)


def _row(one: Figures) -> str:
    return "\n".join(_cells(one, stage_name) for stage_name in STAGES)


def _cells(one: Figures, stage_name: str) -> str:
    part = one[stage_name]
    cells = (
        str(one["seed"]),
        STAGES[stage_name],
        _mean(part["mean_return"], part["low"], part["high"]),
        _mean(*difference(one)) if stage_name == "after" else "",
        f"{part['successes']} % ({part['success_low']:.0%} to {part['success_high']:.0%})",
        f"{part['invalid_share']:.0%}",
        f"{part['milestones']:.1f}",
        f"{part['steps']:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def _mean(mean: float, low: float, high: float) -> str:
    return f"{mean:+.2f} ({low:+.2f} to {high:+.2f})"


def _range(seeds: range) -> str:
    return f"{seeds.start} to {seeds.stop - 1}"
