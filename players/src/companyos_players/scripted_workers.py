"""Naive workers of three skills: they follow the visible workflow of any scenario with rising care.

The first takes everything at its face and gives up at the first failure; the second tries again, refreshes and gets
past what blocks a ticket; the third also finds who may decide today. None of them sees a reason to refuse, or which
source is the authority.
"""

from __future__ import annotations

from typing import Any, cast

from companyos.policies import Call, EpisodeOverError, TaskView
from companyos_players import ToolClient, ToolRefusedError, Worker
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
from companyos_players.registry import worker_class

BEHAVIORS_BY_SKILL: tuple[tuple[type[Worker], ...], ...] = (
    (KeepsAssignee, IgnoresBlockers, AcceptsFirstRejection, NeverAnswers, IgnoresAbsence),
    (IgnoresAbsence,),
    (NeverRefuses, LimitedAttempts),
)
"""By skill, the ways of working that are laid over the fair worker."""

READING_BIAS_BY_SKILL = ("stale_metric", "conflicting_sources", "conflicting_sources")
"""By skill, what it takes at its face when it reads a figure."""


class ScriptedWorkerPolicy:
    """Plays as a naive worker; a scenario whose fair solution is no worker is given up at once."""

    def __init__(self, skill: int) -> None:
        self.name = f"worker{skill}"
        self._skill = skill - 1

    async def play(self, task: TaskView, call: Call) -> None:
        """Work as far as the skill goes."""
        worker = worker_class(task.scenario)
        if worker is not None:
            await restoring_field_names(self._player_for(worker))(task, call)

    def _player_for(self, worker: type[Worker]) -> Any:
        behaviors, bias = BEHAVIORS_BY_SKILL[self._skill], READING_BIAS_BY_SKILL[self._skill]
        composed = cast(
            type[Worker], type(f"Naive{worker.__name__}", (*behaviors, worker), {"__doc__": worker.__doc__})
        )
        client = NeverRetries if self._skill == 0 else ToolClient

        async def work(task: TaskView, call: Call) -> None:
            try:
                await composed(task, client(with_reading_bias(bias, call) or call)).work()
            except ToolRefusedError:
                raise EpisodeOverError from None

        return work


class ScriptedWorker1(ScriptedWorkerPolicy):
    """Never refreshes, never tries again, never asks whether somebody is there."""

    def __init__(self) -> None:
        super().__init__(1)


class ScriptedWorker2(ScriptedWorkerPolicy):
    """Tries again and refreshes, and asks whoever holds the role."""

    def __init__(self) -> None:
        super().__init__(2)


class ScriptedWorker3(ScriptedWorkerPolicy):
    """Finds who may decide today as well, and refuses nothing."""

    def __init__(self) -> None:
        super().__init__(3)
