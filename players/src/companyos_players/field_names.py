"""Restores the usual names of response fields, using the tool descriptions of the episode."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_players.player import Player

_RENAMED_FIELD = re.compile(r"`(\w+)` is called `(\w+)`")
_FREE_FORM = frozenset({"fields", "parameters"})
"""Usual names of members that contain free-form data."""


def restore_field_names(task: TaskView, call: Call) -> Call:
    """Return a call that restores usual field names as far as the tool descriptions state them."""
    renamed = {
        tool.name: {name: usual for usual, name in _RENAMED_FIELD.findall(tool.description)} for tool in task.tools
    }
    return _with_names(call, renamed.get) if any(renamed.values()) else call


def rename_fields(names: Mapping[str, Mapping[str, str]], call: Call) -> Call:
    """Return a call that restores usual field names from a known mapping per service."""
    known = {service: {name: usual for usual, name in table.items()} for service, table in names.items()}
    return _with_names(call, lambda tool: known.get(tool.partition("_")[0])) if known else call


def _with_names(call: Call, names_of: Callable[[str], Mapping[str, str] | None]) -> Call:
    async def read(tool: str, arguments: dict[str, Any], /) -> StepView:
        view = await call(tool, arguments)
        names = names_of(tool)
        return replace(view, result=_restore(view.result, names)) if names and not view.is_refused else view

    return read


def _restore(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_restore(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, part in value.items():
        known = names.get(name, name)
        found[known] = part if known in _FREE_FORM and isinstance(part, dict) else _restore(part, names)
    return found


def restoring_field_names(player: Player) -> Player:
    """Return the player wrapped to receive usual field names, restored from the tool descriptions."""

    async def play(task: TaskView, call: Call) -> None:
        await player(task, restore_field_names(task, call))

    play.__name__ = getattr(player, "__name__", "play")
    play.__doc__ = player.__doc__
    return play
