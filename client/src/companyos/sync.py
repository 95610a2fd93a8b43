"""`CompanyOSEnv.sync()`: the same client without `await`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self, cast

from openenv.core.client_types import StepResult
from openenv.core.env_server.types import Observation
from openenv.core.sync_client import SyncEnvClient

from companyos.contract import (
    CompanyOSObservation,
    CompanyOSState,
    EpisodeDiff,
    EpisodeVerdict,
    SnapshotInfo,
    SplitInfo,
    TaskInfo,
    ToolSpec,
)
from companyos.options import RESUME_WITHIN_S, Action


class CompanyOSSyncEnv(SyncEnvClient[Action, Observation, CompanyOSState]):
    """A session for synchronous code: the methods of CompanyOSEnv with direct return values."""

    _async: Any
    """The wrapped CompanyOSEnv; untyped, because its module imports this one."""

    def call_tool(self, tool: str, /, **arguments: Any) -> StepResult[CompanyOSObservation]:
        """Take one step: call a tool by its name with the arguments of its schema."""
        return cast("StepResult[CompanyOSObservation]", self._run(self._async.call_tool(tool, **arguments)))

    def list_tools(self) -> list[ToolSpec]:
        """Return the tools of the episode, or all tools before the first reset. This is not a step."""
        return cast("list[ToolSpec]", self._run(self._async.list_tools()))

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

    def snapshot(self) -> SnapshotInfo:
        """Save the state after the last step."""
        return cast("SnapshotInfo", self._run(self._async.snapshot()))

    def restore(self, snapshot: str | SnapshotInfo) -> CompanyOSState:
        """Restore this episode to a snapshot of its lineage."""
        return cast("CompanyOSState", self._run(self._async.restore(snapshot)))

    def fork(self, snapshot: str | SnapshotInfo, count: int = 1) -> list[Self]:
        """Create new episodes from a snapshot, all or none; return a connected session for each."""
        opened = self._run(self._async._open(snapshot, count))
        sessions: list[Self] = []
        try:
            for each in opened:
                sessions.append(self._child())
                sessions[-1].connect()
                sessions[-1].reset(resume=each.token)
        except BaseException:
            for session in sessions:
                with suppress(Exception):
                    session.close()
            self._run(self._async._drop([each.episode_id for each in opened]))
            raise
        self._child_clients.extend(sessions)
        return sessions

    def diff(self, from_: int = 0, to: int | None = None) -> EpisodeDiff:
        """Return the rows that differ between two steps of the episode; `to` defaults to the last step."""
        return cast("EpisodeDiff", self._run(self._async.diff(from_, to)))

    def verdict(self) -> EpisodeVerdict:
        """Return the verdict on the episode so far, with each check."""
        return cast("EpisodeVerdict", self._run(self._async.verdict()))

    def service_urls(self) -> dict[str, str]:
        """Return the URLs of the episode's services by name, for REST requests; each request is a step."""
        return cast("dict[str, str]", self._run(self._async.service_urls()))

    def drop(self) -> None:
        """Drop the episode with its databases."""
        self._run(self._async.drop())

    def delete_snapshot(self, snapshot: str | SnapshotInfo) -> None:
        """Delete a snapshot; episodes that started from it continue."""
        self._run(self._async.delete_snapshot(snapshot))

    def resume(self, *, within_s: float = RESUME_WITHIN_S) -> StepResult[Any]:
        """Reconnect and continue the episode of the last reset; the result contains its last observation."""
        return cast("StepResult[Any]", self._run(self._async.resume(within_s=within_s)))

    def new_session(self) -> Self:
        """Return another connected session with the same server; it closes with this one."""
        session = self._child()
        session.connect()
        self._child_clients.append(session)
        return session

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _run(self, coro: Any) -> Any:
        self._async._sync_client = self  # OpenEnv's `close` is awaited in this loop after a failed connect
        return super()._run(coro)

    def _child(self) -> Self:
        return type(self)(self._async._create_session_client())
