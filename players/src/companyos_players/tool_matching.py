"""A player that selects tools by their descriptions instead of their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_players.player import Player

_NAMES = re.compile(r" ?In responses, `\w+` is called .*\.")
_WORDS = re.compile(r"[a-z]+")
MAX_TRIES = 3
"""Tools to try before calling a tool by its name."""


def match_tools_by_description(fair: Player, learned: Sequence[Any]) -> Player:
    """Return the fair oracle wrapped to select tools by known description words.

    If no description matches, it tries the most similar ones until a call succeeds.
    """
    known = {tool.name: tool.description for tool in learned}

    async def play(task: TaskView, call: Call) -> None:
        offered = {tool.name: _NAMES.sub("", tool.description) for tool in task.tools}

        async def look_up(tool: str, arguments: dict[str, Any], /) -> StepView:
            for name in _similar_tools(tool, known, offered):
                if (view := await call(name, arguments)).done or not view.is_refused:
                    return view
            return await call(tool, arguments)

        await fair(task, look_up)

    return play


def _similar_tools(tool: str, known: Mapping[str, str], offered: Mapping[str, str]) -> list[str]:
    """Return the candidate tools, most similar first."""
    description = known.get(tool)
    if description is None or description in offered.values():
        return []
    words = set(_WORDS.findall(description.lower()))
    near = sorted(offered, key=lambda name: (-_similarity(words, offered[name]), name))[:MAX_TRIES]
    return near[: near.index(tool)] if tool in near else near


def _similarity(words: set[str], description: str) -> float:
    others = set(_WORDS.findall(description.lower()))
    return len(words & others) / max(1, len(words | others))
