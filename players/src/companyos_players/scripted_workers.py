"""Naive workers of three skill levels that follow the visible workflow of any scenario.

Level 1 trusts every value and gives up at the first failure. Level 2 retries, refreshes and passes blockers. Level 3
also finds today's approver. None of them refuses work or determines a metric's authority.
"""

from __future__ import annotations

from functools import partial
from typing import cast

from companyos.policies import Call, EpisodeOverError, TaskView
from companyos_players import MissingFactError, ToolClient, ToolRefusedError, Worker
from companyos_players.ablations import (
    AcceptsFirstRejection,
    IgnoresBlockers,
    KeepsAssignee,
    NeverAnswers,
    NeverRetries,
    with_reading_bias,
)
from companyos_players.adversaries.base import IgnoresAbsence, LimitedAttempts, NeverRefuses
from companyos_players.field_names import restoring_field_names
from companyos_players.player import Player
from companyos_players.registry import worker_class
from companyos_players.shift import player_for

BEHAVIORS_BY_SKILL: tuple[tuple[type[Worker], ...], ...] = (
    (KeepsAssignee, IgnoresBlockers, AcceptsFirstRejection, NeverAnswers, IgnoresAbsence),
    (IgnoresAbsence,),
    (NeverRefuses, LimitedAttempts),
)
"""Mixins for the fair worker, by skill level."""

READING_BIAS_BY_SKILL = ("stale_metric", "conflicting_sources", "conflicting_sources")
"""Reading bias by skill level."""


class ScriptedWorkerPolicy:
    """Plays as a naive worker; gives up on a scenario whose fair solution has no worker."""

    def __init__(self, skill: int) -> None:
        self.name = f"worker{skill}"
        self._skill = skill - 1

    async def play(self, task: TaskView, call: Call) -> None:
        """Work as far as the skill level allows."""
        await player_for(task.scenario, self._player_for)(task, call)

    def _player_for(self, scenario: str) -> Player:
        worker = worker_class(scenario)
        return _give_up if worker is None else restoring_field_names(self._compose(worker))

    def _compose(self, worker: type[Worker]) -> Player:
        behaviors, bias = BEHAVIORS_BY_SKILL[self._skill], READING_BIAS_BY_SKILL[self._skill]
        composed = cast(
            type[Worker], type(f"Naive{worker.__name__}", (*behaviors, worker), {"__doc__": worker.__doc__})
        )
        client = NeverRetries if self._skill == 0 else ToolClient

        async def work(task: TaskView, call: Call) -> None:
            try:
                await composed(task, client(with_reading_bias(bias, call) or call)).work()
            except (ToolRefusedError, MissingFactError):
                raise EpisodeOverError from None

        return work


async def _give_up(_task: TaskView, _call: Call) -> None:
    pass


ScriptedWorker1, ScriptedWorker2, ScriptedWorker3 = (partial(ScriptedWorkerPolicy, skill) for skill in (1, 2, 3))
"""The policies `worker1`, `worker2` and `worker3`."""
