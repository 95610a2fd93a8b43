"""The oracle as a policy: the fair solution of whichever scenario is played."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import cast

from companyos.policies import Call, TaskView

FairPlayer = Callable[[TaskView, Call], Awaitable[None]]


def fair_player(scenario: str) -> FairPlayer:
    """Return the fair solution of a scenario: it sees what an agent sees."""
    module = import_module(f"companyos_gateway.scenarios.{scenario}.solution.fair")
    return cast(FairPlayer, module.play)


class OraclePolicy:
    """Plays every scenario by its fair solution."""

    name = "oracle"

    async def play(self, task: TaskView, call: Call) -> None:
        """Solve the task from what an agent is shown."""
        await fair_player(task.scenario)(task, call)
