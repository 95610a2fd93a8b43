"""The `oracle` policy: plays every scenario with its fair oracle."""

from __future__ import annotations

from companyos.policies import Call, TaskView
from companyos_players.registry import fair_player


class OraclePolicy:
    """Plays every scenario with its fair oracle."""

    name = "oracle"

    async def play(self, task: TaskView, call: Call) -> None:
        """Solve the task from what an agent sees."""
        await fair_player(task.scenario)(task, call)
