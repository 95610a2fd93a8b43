"""The random policy: a baseline that knows only the tool schemas."""

from __future__ import annotations

from companyos.policies.arguments import SamplingContext, ids_in, sample_arguments
from companyos.policies.policy import Call, TaskView


class RandomPolicy:
    """Calls uniformly drawn tools with valid arguments until the episode ends.

    Half of the id arguments are ids from the brief. The n-th call of an episode is a pure function of the policy's
    stream
    and n.
    """

    name = "random"

    async def play(self, task: TaskView, call: Call) -> None:
        """Call tools until the episode is done."""
        ids = [*ids_in(task.brief), task.acting_as]
        now, steps = task.now, 0
        while True:
            stream = task.stream.child("step", steps)
            tool = stream.choice(task.tools)
            step = await call(tool.name, sample_arguments(tool.input_schema, stream, SamplingContext(ids, now)))
            if step.done:
                return
            now, steps = step.now, steps + 1
