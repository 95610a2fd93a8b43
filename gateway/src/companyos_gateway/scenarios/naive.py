"""Naive workers of three skills: they follow the visible workflow of any scenario with rising care.

The first takes everything at its face and gives up at the first failure; the second tries again, refreshes and gets
past what blocks a ticket; the third also finds who may decide today. None of them sees a reason to refuse, or which
source is the authority.
"""

from __future__ import annotations

from typing import Any, cast

from companyos.policies import Call, EpisodeOver, TaskView
from companyos_gateway.scenarios.policy import reader
from companyos_gateway.scenarios.skills import Hands, Refused, Worker
from companyos_gateway.scenarios.skills.cheating import IgnoresAbsence, Limited, NeverRefuses
from companyos_gateway.scenarios.skills.skipping import (
    GivesUp,
    IgnoresBlockers,
    KeepsAssignee,
    NeverAnswers,
    TakesNoForAnAnswer,
    believing,
)
from companyos_gateway.scenarios.solutions import worker_of

WAYS: tuple[tuple[type[Worker], ...], ...] = (
    (KeepsAssignee, IgnoresBlockers, TakesNoForAnAnswer, NeverAnswers, IgnoresAbsence),
    (IgnoresAbsence,),
    (NeverRefuses, Limited),
)
"""By skill, the ways of working that are laid over the fair worker."""

FACES = ("stale_metric", "conflicting_sources", "conflicting_sources")
"""By skill, what it takes at its face when it reads a figure."""


class NaivePolicy:
    """Plays as a naive worker; a scenario whose fair solution is no worker is given up at once."""

    def __init__(self, skill: int) -> None:
        self.name = f"worker{skill}"
        self._skill = skill - 1

    async def play(self, task: TaskView, call: Call) -> None:
        """Work as far as the skill goes."""
        worker = worker_of(task.scenario)
        if worker is not None:
            await reader(self._work_as(worker))(task, call)

    def _work_as(self, worker: type[Worker]) -> Any:
        ways, face = WAYS[self._skill], FACES[self._skill]
        made = cast(type[Worker], type(f"Naive{worker.__name__}", (*ways, worker), {"__doc__": worker.__doc__}))
        hands = GivesUp if self._skill == 0 else Hands

        async def work(task: TaskView, call: Call) -> None:
            try:
                await made(task, hands(believing(face, call) or call)).work()
            except Refused:
                raise EpisodeOver from None

        return work


class FirstWorker(NaivePolicy):
    """Never refreshes, never tries again, never asks whether somebody is there."""

    def __init__(self) -> None:
        super().__init__(1)


class SecondWorker(NaivePolicy):
    """Tries again and refreshes, and asks whoever holds the role."""

    def __init__(self) -> None:
        super().__init__(2)


class ThirdWorker(NaivePolicy):
    """Finds who may decide today as well, and refuses nothing."""

    def __init__(self) -> None:
        super().__init__(3)
