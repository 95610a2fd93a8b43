"""The oracle as a policy: the fair solution of whichever scenario is played."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import cast

from companyos.policies import Call, TaskView
from companyos_gateway.scenarios.skills.reading import reading

FairPlayer = Callable[[TaskView, Call], Awaitable[None]]


def fair_player(scenario: str) -> FairPlayer:
    """Return the fair solution of a scenario: it sees what an agent sees."""
    module = import_module(f"companyos_gateway.scenarios.{scenario}.solution.fair")
    return reader(cast(FairPlayer, module.play))


def reader(player: FairPlayer) -> FairPlayer:
    """Return the player with its answers read by the names that the tools' descriptions give."""

    async def play(task: TaskView, call: Call) -> None:
        await player(task, reading(task, call))

    play.__name__ = getattr(player, "__name__", "play")
    play.__doc__ = player.__doc__
    return play


class OraclePolicy:
    """Plays every scenario by its fair solution."""

    name = "oracle"

    async def play(self, task: TaskView, call: Call) -> None:
        """Solve the task from what an agent is shown."""
        await fair_player(task.scenario)(task, call)
