"""What a reset asks for: one task of the task set by its place, or a scenario with a seed."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass

from companyos.contract import ResetOptions
from companyos_gateway.episode.errors import InvalidReset
from companyos_gateway.episode.task import TaskKey
from companyos_gateway.taskset import Place, TaskRef, TaskSet, UnknownPlace

LARGEST_DRAWN_SEED = 2**31 - 1
_NAMES_OF_A_TASK = ("split", "index", "task_id")


@dataclass(frozen=True)
class Asked:
    """The task of a reset, and how it is to be played."""

    key: TaskKey
    options: ResetOptions
    """The options without the names of a task, which `published` holds."""
    published: TaskRef | None = None


async def asked_for(options: ResetOptions, task_set: TaskSet) -> Asked:
    """Return what the options ask for; raises InvalidReset (422) for a task that the set does not have."""
    try:
        place = _place(options, task_set)
    except UnknownPlace as unknown:
        raise InvalidReset(str(unknown)) from None
    if place is None:
        seed = secrets.randbelow(LARGEST_DRAWN_SEED + 1) if options.seed is None else options.seed
        return Asked(TaskKey(options.scenario, seed, options.chaos, _overrides(options)), options)
    key = TaskKey(place.scenario, await asyncio.to_thread(task_set.seed, place), place.chaos)
    return Asked(key, options.model_copy(update=dict.fromkeys(_NAMES_OF_A_TASK)), task_set.ref(place))


def _place(options: ResetOptions, task_set: TaskSet) -> Place | None:
    if options.task_id is not None:
        return task_set.find(options.task_id)
    if options.split is None or options.index is None:
        return None
    return task_set.place(options.split, options.index)


def _overrides(options: ResetOptions) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(options.chaos_overrides.items()))
