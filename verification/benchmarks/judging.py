"""Cost of judging: the verdict after each step of long episodes of every scenario, without a server."""

from __future__ import annotations

import time
from statistics import median
from unittest.mock import patch

from companyos.policies import Call, TaskView
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.evaluation import Evidence, FinishDeclaration, TaskRubric, Verdict
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios import catalogue
from companyos_gateway.settings import Settings
from verification.benchmarks.measurements import Measurements
from verification.proof.episode_runner import record_episode
from verification.proof.players.oracles import fair_oracle

SEEDS = range(4)
STEPS = 75
LEVEL = 2
READS = ("ticketdesk_list_tickets", "datahub_list_metrics", "approvalflow_list_approvals")


async def measure_judging(measurements: Measurements) -> None:
    """Measure the fair oracle's episodes, made longer with reads so that the work follows step 75."""
    runtime = GatewayRuntime(Settings())
    async with runtime.running():
        medians = {
            scenario: median(await _judge_seconds(runtime.engine(), scenario)) for scenario in sorted(catalogue())
        }
    slowest = max(medians, key=lambda scenario: medians[scenario])
    name = f"judge after {STEPS} steps, p50 of the slowest scenario ({slowest})"
    measurements.add(name, medians[slowest] * 1e6, "us", target="<= 250 us")


async def _judge_seconds(engine: EpisodeEngine, scenario: str) -> list[float]:
    """Return how long each judge call after STEPS steps took."""
    seconds: list[float] = []
    judge = TaskRubric.judge

    def timed_judge(rubric: TaskRubric, evidence: Evidence, finish: FinishDeclaration | None) -> Verdict:
        began = time.perf_counter()
        verdict = judge(rubric, evidence, finish)
        duration = time.perf_counter() - began
        if sum(len(evidence.audits(service)) for service in evidence.services()) > STEPS:
            seconds.append(duration)
        return verdict

    async def play(task: TaskView, call: Call) -> None:
        for number in range(STEPS):
            await call(READS[number % len(READS)], {})
        await fair_oracle(scenario)(task, call)

    with patch.object(TaskRubric, "judge", timed_judge):
        for seed in SEEDS:
            await record_episode(engine, scenario, "fair", play, seed=seed, chaos=LEVEL)
    return seconds
