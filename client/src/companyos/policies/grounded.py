"""The grounded random policy: random calls with ids and words from earlier responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos.policies.arguments import SamplingContext, ids_in, sample_arguments
from companyos.policies.policy import Call, TaskView

_READ_CHANCE = 0.5
"""Probability of a read instead of any tool, so that the policy collects values."""

_READ_MARKERS = ("_list_", "_get_", "_search_", "_query_")
_MAX_KEPT_VALUES = 40
_MAX_VALUE_CHARS = 64


class GroundedPolicy:
    """Calls random tools with valid arguments that refer to seen values, until the episode ends.

    An argument gets a value that was seen under its name, or under the name of the referenced record. The n-th call of
    an episode is a pure function of the policy's stream, n, and the earlier responses.
    """

    name = "grounded"

    async def play(self, task: TaskView, call: Call) -> None:
        """Call tools until the episode is done."""
        seen: dict[str, list[Any]] = {}
        ids = [*ids_in(task.brief), task.acting_as]
        read_tools = [tool for tool in task.tools if any(part in tool.name for part in _READ_MARKERS)]
        other_tools = [tool for tool in task.tools if tool.name != "finish"]
        now, steps = task.now, 0
        while True:
            stream = task.stream.child("step", steps)
            tool = stream.choice(read_tools if read_tools and stream.chance(_READ_CHANCE) else other_tools)
            context = SamplingContext(ids, now, seen)
            step = await call(tool.name, sample_arguments(tool.input_schema, stream, context))
            if step.done:
                return
            _remember(step.result, seen, ids)
            now, steps = step.now, steps + 1


def _remember(result: Any, seen: dict[str, list[Any]], ids: list[str]) -> None:
    """Store every short value of a response under its name, and every id; the newest values are kept."""
    for name, value in _named_values(result, ""):
        kept = seen.setdefault(name, [])
        if value not in kept:
            kept.append(value)
            del kept[:-_MAX_KEPT_VALUES]
        if isinstance(value, str) and value not in ids:
            ids.extend(item for item in ids_in(value) if item not in ids)
            del ids[:-_MAX_KEPT_VALUES]


def _named_values(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _named_values(item, f"{name}_id" if key == "id" and name else str(key))
    elif isinstance(value, list):
        singular = name.removesuffix("s")
        for item in value:
            yield from _named_values(item, singular)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and len(str(value)) <= _MAX_VALUE_CHARS:
        yield name, value
