"""The scripted workers play every scenario to its end, without an exception."""

from __future__ import annotations

import pytest

from companyos.policies import load_policy
from companyos_gateway.scenarios import catalogue
from tests.scenarios.engine import EpisodeSpec, PlayAll

IN_DAILY_TESTS = ("data_discrepancy", "employee_offboarding")
TASKS = ((1, 2), (2, 4))
"""Seeds and chaos levels."""

UNKNOWN_LAST_DAY = (5_000_017_003, 2)
"""A task of employee_offboarding in which the directory knows no last day."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in IN_DAILY_TESTS else pytest.mark.matrix) for name in sorted(catalogue())],
)
def test_no_worker_raises_an_exception(name: str, play_all: PlayAll) -> None:
    tasks = [*TASKS, UNKNOWN_LAST_DAY] if name == "employee_offboarding" else TASKS
    for worker in ("worker1", "worker2", "worker3"):
        specs = [
            EpisodeSpec(scenario=name, player=load_policy(worker).play, seed=seed, chaos=chaos) for seed, chaos in tasks
        ]
        assert [kept.result.player_error for kept in play_all(specs)] == [None] * len(tasks)
