"""Cost of judging long episodes of every scenario: the standing after each step and the verdict, without a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any
from unittest.mock import patch

from companyos.policies import Call, TaskView
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.evaluation import Evidence, TaskRubric
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios import catalogue
from companyos_gateway.settings import Settings
from companyos_players.registry import fair_player
from verification.benchmarks.measurements import Measurements
from verification.proof.episode_runner import record_episode

SEEDS = range(4)
STEPS = 75
LEVEL = 2
READS = ("ticketdesk_list_tickets", "datahub_list_metrics", "approvalflow_list_approvals")


async def measure_judging(measurements: Measurements) -> None:
    """Measure episodes of the fair oracle that begin with STEPS reads, so that its work follows them."""
    runtime = GatewayRuntime(Settings())
    async with runtime.running():
        seconds = {scenario: await _judge_seconds(runtime.engine(), scenario) for scenario in sorted(catalogue())}
    for method, what, target in (("standing", "judge", "<= 250 us"), ("judge", "verdict at the end", "")):
        medians = {scenario: median(times[method]) for scenario, times in seconds.items()}
        slowest = max(medians, key=lambda scenario: medians[scenario])
        name = f"{what} after {STEPS} steps, p50 of the slowest scenario ({slowest})"
        measurements.add(name, medians[slowest] * 1e6, "us", target=target)


async def _judge_seconds(engine: EpisodeEngine, scenario: str) -> dict[str, list[float]]:
    """Return the durations of calls after STEPS steps in seconds: `standing` after each step, `judge` at the end."""
    seconds: dict[str, list[float]] = {"standing": [], "judge": []}

    def timed(method: str) -> Callable[..., Any]:
        judge = getattr(TaskRubric, method)

        def call(rubric: TaskRubric, evidence: Evidence, *arguments: Any) -> Any:
            began = time.perf_counter()
            result = judge(rubric, evidence, *arguments)
            duration = time.perf_counter() - began
            if sum(len(evidence.audits(service)) for service in evidence.services()) > STEPS:
                seconds[method].append(duration)
            return result

        return call

    async def play(task: TaskView, call: Call) -> None:
        for number in range(STEPS):
            await call(READS[number % len(READS)], {})
        await fair_player(scenario)(task, call)

    with patch.multiple(TaskRubric, standing=timed("standing"), judge=timed("judge")):
        for seed in SEEDS:
            await record_episode(engine, scenario, "fair", play, seed=seed, chaos=LEVEL)
    return seconds
