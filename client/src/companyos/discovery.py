"""Client methods for OpenEnv's Task API. They list tasks; only `reset` starts an episode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from companyos.contract import SplitInfo, TaskInfo

if TYPE_CHECKING:
    from companyos.trainer import Trainer


class Discovery:
    """Methods of a client that list tasks; each raises ApiError for an unknown split or index."""

    def _trainer_client(self) -> Trainer:
        raise NotImplementedError

    async def list_splits(self) -> list[SplitInfo]:
        """Return the splits of the task set with their sizes."""
        return await self._trainer_client().splits()

    async def num_tasks(self, split: str) -> int:
        """Return the number of tasks of a split."""
        return await self._trainer_client().num_tasks(split)

    async def list_tasks(self, split: str) -> list[TaskInfo]:
        """Return the tasks of a split without their briefs."""
        return await self._trainer_client().tasks(split)

    async def get_task(self, split: str, index: int) -> TaskInfo:
        """Return one task with its brief."""
        return await self._trainer_client().task(split, index)

    async def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        """Return the tasks from start to stop (exclusive, like a slice) without their briefs."""
        return await self._trainer_client().tasks(split, start, stop)


class SyncDiscovery:
    """The same methods without `await`."""

    _async: Any

    def _run(self, awaitable: Any) -> Any:
        raise NotImplementedError

    def list_splits(self) -> list[SplitInfo]:
        """Return the splits of the task set with their sizes."""
        return cast("list[SplitInfo]", self._run(self._async.list_splits()))

    def num_tasks(self, split: str) -> int:
        """Return the number of tasks of a split."""
        return cast("int", self._run(self._async.num_tasks(split)))

    def list_tasks(self, split: str) -> list[TaskInfo]:
        """Return the tasks of a split without their briefs."""
        return cast("list[TaskInfo]", self._run(self._async.list_tasks(split)))

    def get_task(self, split: str, index: int) -> TaskInfo:
        """Return one task with its brief."""
        return cast("TaskInfo", self._run(self._async.get_task(split, index)))

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        """Return the tasks from start to stop (exclusive, like a slice) without their briefs."""
        return cast("list[TaskInfo]", self._run(self._async.get_task_range(split, start, stop)))
