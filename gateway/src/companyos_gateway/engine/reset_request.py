"""Resolves reset options to a task of the task set, or to a scenario with a seed."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass

from companyos.contract import ResetOptions
from companyos_gateway.engine.errors import InvalidResetError
from companyos_gateway.engine.task_cache import TaskKey
from companyos_gateway.tasks import TaskNotFoundError, TaskPosition, TaskRef, TaskSet

MAX_DRAWN_SEED = 2**31 - 1
_TASK_FIELDS = ("split", "index", "task_id")


@dataclass(frozen=True)
class ResetRequest:
    """The task of a reset, and how it is to be played."""

    key: TaskKey
    options: ResetOptions
    """The options without the names of a task, which `published` holds."""
    published: TaskRef | None = None


async def resolve_reset_request(options: ResetOptions, task_set: TaskSet) -> ResetRequest:
    """Return what the options ask for; raises InvalidResetError (422) for a task that the set does not have."""
    try:
        position = _find_position(options, task_set)
    except TaskNotFoundError as unknown:
        raise InvalidResetError(str(unknown)) from None
    if position is None:
        seed = secrets.randbelow(MAX_DRAWN_SEED + 1) if options.seed is None else options.seed
        return ResetRequest(TaskKey(options.scenario, seed, options.chaos, _overrides(options)), options)
    key = TaskKey(position.scenario, await asyncio.to_thread(task_set.seed, position), position.chaos)
    return ResetRequest(key, options.model_copy(update=dict.fromkeys(_TASK_FIELDS)), task_set.ref(position))


def _find_position(options: ResetOptions, task_set: TaskSet) -> TaskPosition | None:
    if options.task_id is not None:
        return task_set.find(options.task_id)
    if options.split is None or options.index is None:
        return None
    return task_set.position(options.split, options.index)


def _overrides(options: ResetOptions) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(options.chaos_overrides.items()))
