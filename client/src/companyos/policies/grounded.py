"""The grounded random policy: chance again, but with the ids and words that the enterprise itself has shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos.policies.arguments import SamplingContext, ids_in, sample_arguments
from companyos.policies.policy import Call, TaskView

_READ_CHANCE = 0.5
"""How often it looks something up rather than drawing any tool: so it comes to know what there is."""

_READ_MARKERS = ("_list_", "_get_", "_search_", "_query_")
_MAX_KEPT_VALUES = 40
_MAX_VALUE_CHARS = 64


class GroundedPolicy:
    """Calls drawn tools with arguments that fit their schema and refer to what it has seen, until the episode ends.

    An argument takes a value that was seen under its own name, or under the name of the record that it names; the n-th
    call of an episode is a pure function of the policy's stream, n, and the answers before it.
    """

    name = "grounded"

    async def play(self, task: TaskView, call: Call) -> None:
        """Call until the episode is done."""
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
    """Keep every short value of an answer under its name, the newest of them, and every id among them."""
    for name, value in _named_values(result, ""):
        kept = seen.setdefault(name, [])
        if value not in kept:
            kept.append(value)
            del kept[:-_MAX_KEPT_VALUES]
        if isinstance(value, str) and value not in ids:
            ids.extend(one for one in ids_in(value) if one not in ids)
            del ids[:-_MAX_KEPT_VALUES]


def _named_values(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _named_values(one, f"{name}_id" if key == "id" and name else str(key))
    elif isinstance(value, list):
        singular = name.removesuffix("s")
        for one in value:
            yield from _named_values(one, singular)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and len(str(value)) <= _MAX_VALUE_CHARS:
        yield name, value
