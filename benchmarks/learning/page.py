"""`docs/learning.md`: what came of `make learn`, with its picture and its figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.learning.one_seed import CHAOS, HELD_OUT, SCENARIO, SEEDS, SHOWN, TRAINED, mean_interval
from companyos.integrations.trl.curves import draw_curves

Figures = Mapping[str, Any]

NAME = "learning"

_ROSE = "rose, with an interval above zero,"

_TEXT = Path(__file__).with_name("page.txt")


def write_page(figures: Sequence[Figures], demonstrations: int, folder: Path) -> None:
    """Write the page, its picture and its figures."""
    curves = {f"seed {one['seed']}": one["curve"] for one in figures}
    draw_curves(curves, folder / f"{NAME}.png", title=f"{SCENARIO}, chaos {CHAOS}: GRPO after a warm start")
    (folder / f"{NAME}.json").write_text(json.dumps(list(figures)) + "\n", encoding="utf-8")
    settings = figures[0]["settings"]
    seconds = sorted(one["seconds"] for one in figures)
    text = _TEXT.read_text(encoding="utf-8").format(
        **settings,
        name=NAME,
        parameters=figures[0]["parameters"],
        verdict=verdict(figures),
        rows="\n".join(_row(one) for one in figures),
        episodes=figures[0]["before"]["episodes"],
        scenario=SCENARIO,
        chaos=CHAOS,
        seeds=", ".join(map(str, SEEDS)),
        shown=_range(SHOWN),
        trained=_range(TRAINED),
        held_out=_range(HELD_OUT),
        demonstrations=demonstrations,
        seconds=f"{seconds[0] // 60} to {seconds[-1] // 60} minutes",
    )
    (folder / f"{NAME}.md").write_text(text, encoding="utf-8")


def verdict(figures: Sequence[Figures]) -> str:
    """Say in a sentence whether the return rose."""
    rose = sum(difference(one)[1] > 0 for one in figures)
    if not any(one["after"]["successes"] for one in figures):
        return f"The return {_ROSE} for {rose} of {len(figures)} seeds, and no episode succeeded."
    if rose == len(figures):
        return f"The return of held-out episodes {_ROSE} for all {len(figures)} seeds."
    return f"The return of held-out episodes {_ROSE} for {rose} of {len(figures)} seeds."


def difference(one: Figures) -> tuple[float, float, float]:
    """Return how much more the same episodes returned after than before, with its interval."""
    pairs = zip(one["before"]["returns"], one["after"]["returns"], strict=True)
    return mean_interval([after - before for before, after in pairs])


def _row(one: Figures) -> str:
    cells = [str(one["seed"])]
    cells += [_mean(part["mean_return"], part["low"], part["high"]) for part in (one["before"], one["after"])]
    cells.append(_mean(*difference(one)))
    cells += [
        f"{part['successes']} % ({part['success_low']:.0%} to {part['success_high']:.0%})"
        for part in (one["before"], one["after"])
    ]
    cells += [f"{part['invalid_share']:.0%}" for part in (one["before"], one["after"])]
    cells += [f"{part['milestones']:.1f}" for part in (one["before"], one["after"])]
    return f"| {' | '.join(cells)} |"


def _mean(mean: float, low: float, high: float) -> str:
    return f"{mean:+.2f} ({low:+.2f} to {high:+.2f})"


def _range(seeds: range) -> str:
    return f"{seeds.start} to {seeds.stop - 1}"
