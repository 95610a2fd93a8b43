"""Resolves reset options to a task of the task set, or to a scenario with a seed."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass

from companyos.contract import MAX_SEED, ResetOptions
from companyos_gateway.engine.errors import InvalidResetError
from companyos_gateway.engine.task_cache import TaskKey
from companyos_gateway.tasks import TaskNotFoundError, TaskPosition, TaskRef, TaskSet

MAX_DRAWN_SEED = 2**31 - 1
_TASK_FIELDS = ("split", "index", "task_id")

Start = TaskKey | TaskPosition
"""A task: a scenario with a seed, or a position in the task set, whose seed takes time to find."""


@dataclass(frozen=True)
class ResetRequest:
    """The task of a reset, and its options."""

    key: TaskKey
    options: ResetOptions
    """The options without those that name a task of the task set; that task is in `published`."""
    published: TaskRef | None = None


async def resolve_reset_request(options: ResetOptions, task_set: TaskSet) -> ResetRequest:
    """Return the task that the options select; raises InvalidResetError (422) for a task that is not in the set."""
    try:
        position = _find_position(options, task_set)
    except TaskNotFoundError as unknown:
        raise InvalidResetError(str(unknown)) from None
    options = options.model_copy(update={"prefetch": 0})
    if position is None:
        seed = secrets.randbelow(MAX_DRAWN_SEED + 1) if options.seed is None else options.seed
        return ResetRequest(TaskKey(options.scenario, seed, options.chaos, _overrides(options)), options)
    key = await task_key(position, task_set)
    return ResetRequest(key, options.model_copy(update=dict.fromkeys(_TASK_FIELDS)), task_set.ref(position))


async def task_key(start: Start, task_set: TaskSet) -> TaskKey:
    """Return the key of a task, finding its seed in a thread if necessary."""
    if isinstance(start, TaskKey):
        return start
    return TaskKey(start.scenario, await asyncio.to_thread(task_set.seed, start), start.chaos)


def following_tasks(options: ResetOptions, task_set: TaskSet) -> list[Start]:
    """Return up to `prefetch` tasks after the one of the options: the next of its split, or the next seeds."""
    if options.split is not None and options.index is not None:
        following = range(options.index + 1, options.index + 1 + options.prefetch)
        size = task_set.size(options.split)
        return [task_set.position(options.split, index) for index in following if index < size]
    seed = options.seed or 0
    following = range(seed + 1, min(seed + options.prefetch, MAX_SEED) + 1)
    return [TaskKey(options.scenario, one, options.chaos, _overrides(options)) for one in following]


def _find_position(options: ResetOptions, task_set: TaskSet) -> TaskPosition | None:
    if options.task_id is not None:
        return task_set.find(options.task_id)
    if options.split is None or options.index is None:
        return None
    return task_set.position(options.split, options.index)


def _overrides(options: ResetOptions) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(options.chaos_overrides.items()))
