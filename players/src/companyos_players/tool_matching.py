"""Who knows tools by what is said of them, not by their names: it looks for the words that it has learned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_players.player import Player

_NAMES = re.compile(r" ?Answers say `\w+` for `\w+`\.")
_WORDS = re.compile(r"[a-z]+")
MAX_TRIES = 3
"""Tools that are tried before it takes the name for it after all."""


def match_tools_by_description(fair: Player, learned: Sequence[Any]) -> Player:
    """Return the fair oracle as one that takes the tool which is described in the words that it has learned.

    Where none is, it tries what reads most like them, until an answer comes.
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
    """Return the tools that are tried for one instead of it, the most alike first."""
    description = known.get(tool)
    if description is None or description in offered.values():
        return []
    words = set(_WORDS.findall(description.lower()))
    near = sorted(offered, key=lambda name: (-_similarity(words, offered[name]), name))[:MAX_TRIES]
    return near[: near.index(tool)] if tool in near else near


def _similarity(words: set[str], description: str) -> float:
    others = set(_WORDS.findall(description.lower()))
    return len(words & others) / max(1, len(words | others))
