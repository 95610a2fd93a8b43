"""One seed of `make learn`: creates a model, warms it up, trains it with GRPO, and measures it at each stage."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from typing import Any

from companyos.integrations.trl import CompanyOSSpec
from companyos.integrations.trl.curves import read_curve
from companyos.integrations.trl.demonstrations import Conversation, read_conversations
from companyos.integrations.trl.language import ShortNames
from companyos.integrations.trl.models import TINY, Learner, load
from companyos.integrations.trl.rollouts import PlayedRollout, play
from companyos.integrations.trl.training import METRICS, reinforce, warm_up
from companyos.runner.statistics import Z_95, wilson_interval

SCENARIO, CHAOS = "bug_escalation", 0
SEEDS = (44, 55, 66)
"""Seeds of the runs, fixed before the first run."""

HELD_OUT = range(4_000, 4_100)
SHOWN = range(1_000, 1_300)
TRAINED = range(2_000, 2_400)
STAGES = {"untrained": "untrained", "before": "after the warm start", "after": "after GRPO"}
"""The stages at which a model is measured: their keys in the figures and their titles."""

RESULT, REQUEST_FILE = "result.json", "asked.json"


@dataclass(frozen=True)
class Settings:
    """The settings of a run; stored results with other settings are recomputed."""

    warm_up_steps: int = 230
    warm_up_batch: int = 8
    warm_up_rate: float = 5e-3
    steps: int = 40
    batch: int = 64
    generations: int = 8
    rollouts_used: int = 1
    """Number of updates per rollout."""
    rate: float = 8e-4
    temperature: float = 1.0
    turns: int = 24
    new_tokens: int = 28


@dataclass(frozen=True)
class Measured:
    """Results of the held-out episodes."""

    episodes: int
    mean_return: float
    low: float
    high: float
    successes: int
    success_low: float
    success_high: float
    invalid_share: float
    milestones: float
    steps: float
    returns: list[float]
    """Returns by episode, for paired comparisons."""


def learn(url: str, seed: int, shown: Path, folder: Path, settings: Settings) -> dict[str, Any]:
    """Return the figures of one seed; stored results with the same settings are reused."""
    request = {"seed": seed, "settings": asdict(settings)}
    if not _matches(folder, request):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / REQUEST_FILE).write_text(json.dumps(request), encoding="utf-8")
    result = folder / RESULT
    if not result.exists():
        result.write_text(json.dumps(request | _train(url, seed, shown, folder, settings)) + "\n", encoding="utf-8")
    document: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return document


def _matches(folder: Path, request: dict[str, Any]) -> bool:
    file = folder / REQUEST_FILE
    return file.exists() and json.loads(file.read_text(encoding="utf-8")) == request


def _train(url: str, seed: int, shown: Path, folder: Path, settings: Settings) -> dict[str, Any]:
    (folder / METRICS).unlink(missing_ok=True)
    conversations = read_conversations(shown)
    with (
        CompanyOSSpec(url, chaos=CHAOS, scenario=SCENARIO, seeds=HELD_OUT, language=ShortNames) as held_out,
        CompanyOSSpec(url, chaos=CHAOS, scenario=SCENARIO, seeds=TRAINED, language=ShortNames) as trained,
    ):
        blank = load(TINY, seed=seed, spec=held_out, shown=conversations)
        untrained = measured(list(_play(blank, held_out, settings)))
        print(f"seed {seed}: return {untrained.mean_return:+.2f}, untrained", flush=True)
        learner = _warm_up_model(seed, held_out, conversations, folder / "warm_up", settings)
        print(f"seed {seed}: warm start done, playing {len(HELD_OUT)} held-out episodes", flush=True)
        before = measured(list(_play(learner, held_out, settings)))
        print(f"seed {seed}: return {before.mean_return:+.2f}, starting {settings.steps} steps of GRPO", flush=True)
        began = time.monotonic()
        reinforce(
            learner,
            trained,
            folder,
            seed=seed,
            max_steps=settings.steps,
            per_device_train_batch_size=settings.batch,
            num_generations=settings.generations,
            learning_rate=settings.rate,
            lr_scheduler_type="constant",
            num_iterations=settings.rollouts_used,
            scale_rewards="batch",
            temperature=settings.temperature,
            max_tool_calling_iterations=settings.turns,
            max_completion_length=settings.turns * settings.new_tokens,
        )
        seconds = round(time.monotonic() - began)
        after = measured(list(_play(learner, held_out, settings)))
        return {
            "parameters": sum(item.numel() for item in learner.model.parameters()),
            "version": version("companyos"),
            "seconds": seconds,
            "untrained": asdict(untrained),
            "before": asdict(before),
            "after": asdict(after),
            "curve": read_curve(folder / METRICS),
        }


def _warm_up_model(
    seed: int, spec: CompanyOSSpec, shown: Sequence[Conversation], folder: Path, settings: Settings
) -> Learner:
    """Return a learner trained on demonstrations, loaded from the folder if stored there."""
    kept = folder / "model"
    if not kept.exists():
        shutil.rmtree(folder, ignore_errors=True)
        learner = load(TINY, seed=seed, spec=spec, shown=shown)
        warm_up(
            learner,
            shown,
            spec,
            folder,
            seed=seed,
            max_steps=settings.warm_up_steps,
            per_device_train_batch_size=settings.warm_up_batch,
            learning_rate=settings.warm_up_rate,
            warmup_steps=20,
            lr_scheduler_type="cosine",
            adam_beta2=0.98,
        )
        learner.save(kept)
    return load(kept, spec=spec)


def _play(learner: Learner, spec: CompanyOSSpec, settings: Settings) -> Any:
    return play(
        learner.model,
        learner.tokenizer,
        spec,
        at_once=100,
        temperature=settings.temperature,
        turns=settings.turns,
        new_tokens=settings.new_tokens,
    )


def measured(played: Sequence[PlayedRollout]) -> Measured:
    """Return the results of episodes with 95 % intervals: normal for the return, Wilson's for success."""
    n = len(played)
    returns = [episode.ending.return_ for episode in played]
    mean, low, high = mean_interval(returns)
    successes = sum(episode.ending.success for episode in played)
    calls = sum(episode.ending.steps + episode.unknown_calls for episode in played)
    success_low, success_high = wilson_interval(successes, n)
    return Measured(
        episodes=n,
        mean_return=mean,
        low=low,
        high=high,
        successes=successes,
        success_low=success_low,
        success_high=success_high,
        invalid_share=sum(episode.ending.invalid + episode.unknown_calls for episode in played) / calls,
        milestones=sum(episode.ending.milestones for episode in played) / n,
        steps=sum(episode.ending.steps for episode in played) / n,
        returns=[round(value, 3) for value in returns],
    )


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return a mean and its normal 95 % interval."""
    n, mean = len(values), sum(values) / len(values)
    half = Z_95 * sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    return mean, mean - half, mean + half
