"""The policy that does nothing: a baseline that declares success without any work."""

from __future__ import annotations

from companyos.policies.policy import Call, TaskView


class NoopPolicy:
    """Policy that finishes at once."""

    name = "noop"

    async def play(self, task: TaskView, call: Call) -> None:
        """Declare the task done in the first step."""
        await call("finish", {"outcome": "done", "summary": "Nothing was done."})
