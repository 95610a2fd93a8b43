"""The type of a scripted player, and replays of recorded steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from companyos.policies import Call, TaskView

Json = dict[str, Any]
"""A JSON object: the arguments of a call, or a part of a response."""

Player = Callable[[TaskView, Call], Awaitable[None]]
"""Plays one episode. It sees only the task and the responses to its calls."""

Step = tuple[str, Json]
"""A tool and its arguments."""

READS = frozenset({"get", "list", "search", "query"})
NO_SERVICE = frozenset({"wait", "finish"})


def is_write(tool: str) -> bool:
    """Return whether a tool writes."""
    return tool not in NO_SERVICE and tool.partition("_")[2].partition("_")[0] not in READS


def replay_of(steps: Sequence[Step]) -> Player:
    """Return a player that repeats steps regardless of responses."""

    async def replay(_task: TaskView, call: Call) -> None:
        for tool, arguments in steps:
            await call(tool, arguments)

    return replay
