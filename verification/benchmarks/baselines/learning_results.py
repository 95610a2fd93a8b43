"""Rows for the models trained by `make learn`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verification.benchmarks.baselines.formatting import line, percent, percent_with_interval, signed_with_interval
from verification.benchmarks.baselines.results import Share
from verification.benchmarks.learning.stages import STAGES

FIGURES = "learning.json"
_HEAD = ("tiny model", "pass@1", "mean return", "steps", "invalid calls")
_NOT_RUN = 'Not run. Run `make learn`, then `make baselines ARGS="--no-play"`.'
_TEXT = Path(__file__).with_name("learned.txt")


def learning(folder: Path) -> str:
    """Return the rows of a tiny model from untrained to after GRPO, or a note that it was not run."""
    file = folder / FIGURES
    return render_results(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else _NOT_RUN


def render_results(figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the results of `make learn`: one row per seed and stage."""
    first = figures[0]
    lines = [line(_HEAD), "|---|" + "---:|" * (len(_HEAD) - 1)]
    lines += [line(_cells(seed_figures, when)) for seed_figures in figures for when in STAGES]
    text = _TEXT.read_text(encoding="utf-8")
    shown = text.format(steps=first["settings"]["steps"], episodes=first["before"]["episodes"], table="\n".join(lines))
    return shown.rstrip()


def _cells(one: Mapping[str, Any], when: str) -> tuple[str, ...]:
    part = one[when]
    success = Share(mean=part["successes"] / part["episodes"], low=part["success_low"], high=part["success_high"])
    version = f", companyos {one['version']}" if "version" in one else ""
    return (
        f'**{STAGES[when]}**<br>`make learn ARGS="--seed {one["seed"]}"`<br>seed {one["seed"]}{version}',
        percent_with_interval(success),
        signed_with_interval(Share(mean=part["mean_return"], low=part["low"], high=part["high"])),
        f"{part['steps']:.1f}",
        percent(part["invalid_share"]),
    )
