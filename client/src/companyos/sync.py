"""`CompanyOSEnv.sync()`: the same client without `await`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self, cast

from openenv.core.client_types import StepResult
from openenv.core.env_server.types import Observation
from openenv.core.sync_client import SyncEnvClient

from companyos.contract import CompanyOSObservation, CompanyOSState, EpisodeDiff, SnapshotInfo, ToolSpec
from companyos.discovery import SyncDiscovery
from companyos.options import RESUME_WITHIN_S, Action


class CompanyOSSyncEnv(SyncEnvClient[Action, Observation, CompanyOSState], SyncDiscovery):
    """One session, for code that cannot wait: the methods of CompanyOSEnv, answers in place of awaitables."""

    _async: Any
    """The CompanyOSEnv whose methods are run; its module imports this one."""

    def call_tool(self, tool: str, /, **arguments: Any) -> StepResult[CompanyOSObservation]:
        """Take one step: call a tool by its name with the arguments of its schema."""
        return cast("StepResult[CompanyOSObservation]", self._run(self._async.call_tool(tool, **arguments)))

    def list_tools(self) -> list[ToolSpec]:
        """Return the tools of the episode, or all of them before the first reset. It is no step."""
        return cast("list[ToolSpec]", self._run(self._async.list_tools()))

    def snapshot(self) -> SnapshotInfo:
        """Keep the episode as it stands after its last step."""
        return cast("SnapshotInfo", self._run(self._async.snapshot()))

    def restore(self, snapshot_id: str) -> CompanyOSState:
        """Put this episode back to a snapshot of its lineage."""
        return cast("CompanyOSState", self._run(self._async.restore(snapshot_id)))

    def fork(self, snapshot_id: str, count: int = 1) -> list[Self]:
        """Open a snapshot as new episodes, all or none; return a connected session for each."""
        opened = self._run(self._async._open(snapshot_id, count))
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
        """Return the rows that differ between two steps of the episode; `to` left out is its last one."""
        return cast("EpisodeDiff", self._run(self._async.diff(from_, to)))

    def delete_snapshot(self, snapshot_id: str) -> None:
        """Forget a snapshot; episodes that were begun from it live on."""
        self._run(self._async.delete_snapshot(snapshot_id))

    def resume(self, *, within_s: float = RESUME_WITHIN_S) -> StepResult[Any]:
        """Connect anew and go on with the episode of the last reset; the result is its last observation."""
        return cast("StepResult[Any]", self._run(self._async.resume(within_s=within_s)))

    def new_session(self) -> Self:
        """Return another connected session with the same server; this one closes it when it closes."""
        session = self._child()
        session.connect()
        self._child_clients.append(session)
        return session

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _child(self) -> Self:
        return type(self)(self._async._create_session_client())
