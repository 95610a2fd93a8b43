"""The policy that does nothing: the score of an agent that declares the work done without doing it."""

from __future__ import annotations

from companyos.policies.policy import Call, TaskView


class NoopPolicy:
    """Finishes at once."""

    name = "noop"

    async def play(self, task: TaskView, call: Call) -> None:
        """Declare the task done in the first step."""
        await call("finish", {"outcome": "done", "summary": "Nothing was done."})
