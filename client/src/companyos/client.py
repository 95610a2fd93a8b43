"""`CompanyOSEnv`: the typed client of a CompanyOS server, based on OpenEnv's EnvClient, and its `sync()`."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, cast

from companyos.openenv_preload import preload_openenv

preload_openenv()  # must come before imports of OpenEnv: a client does not need its web page

from openenv.core.client_types import StepResult  # noqa: E402
from openenv.core.env_client import EnvClient  # noqa: E402
from openenv.core.env_server.mcp_types import ListToolsObservation  # noqa: E402
from openenv.core.env_server.types import Observation, WSErrorCode  # noqa: E402
from openenv.core.sync_client import SyncEnvClient  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402
from websockets.protocol import State  # noqa: E402

from companyos.contract import (  # noqa: E402
    CallToolAction,
    CompanyOSObservation,
    CompanyOSResetObservation,
    CompanyOSState,
    EpisodeDiff,
    EpisodeVerdict,
    ListToolsAction,
    OpenedEpisode,
    SnapshotInfo,
    SplitInfo,
    TaskInfo,
    ToolSpec,
)
from companyos.errors import ApiError  # noqa: E402
from companyos.options import RESUME_WITHIN_S, Action, ConnectionOptions, ResetArguments  # noqa: E402
from companyos.trainer import Trainer, bearer, error_from_response  # noqa: E402
from companyos_shared.wire.strict_json import MAX_BODY_BYTES  # noqa: E402

__all__ = [
    "Action",
    "ApiError",
    "CompanyOSEnv",
    "CompanyOSSyncEnv",
    "CompanyosAction",
    "CompanyosEnv",
    "CompanyosObservation",
    "ConnectionOptions",
    "ResetArguments",
]

MESSAGE_TIMEOUT_S = 300.0
"""Default time for the response to a message: the first reset of a large company takes a minute on a busy machine."""

_INITIAL_BACKOFF_S = 0.1
_MAX_BACKOFF_S = 1.0
_RETRYABLE_PROBLEMS = ("services-unavailable", "shutting-down")
"""Error codes of a server that is starting or stopping."""

_SERVER_ERROR = re.compile(r"Server error: (?P<message>.*) \(code: (?P<code>\w+)\)", re.DOTALL)

P = ParamSpec("P")
T = TypeVar("T")


class CompanyOSEnv(EnvClient[Action, Observation, CompanyOSState]):
    """A session with a CompanyOS server over its WebSocket: `async with CompanyOSEnv(base_url=...)`, or `.sync()`.

    `reset`, `step` and `state` are OpenEnv's methods. `reset` and `step` return a `StepResult` whose observation is a
    CompanyOSResetObservation, a CompanyOSObservation or a ListToolsObservation; `state` returns a CompanyOSState.
    `token` is the trainer token, if the server requires one. Concurrent calls are executed one after another in call
    order. Every method raises ApiError if the server rejects the call, and ConnectionError if the server is unreachable
    or the connection is lost. A cancelled call closes the connection as well; `resume` continues the episode.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        **options: Unpack[ConnectionOptions],
    ) -> None:
        self._trainer: Trainer | None = None
        self._episode_id: str | None = None
        self._episode_token: str | None = None
        self._is_closed = False
        self._call_lock: asyncio.Lock | None = None
        self._call_lock_loop: asyncio.AbstractEventLoop | None = None
        options.setdefault("message_timeout_s", MESSAGE_TIMEOUT_S)
        super().__init__(base_url, headers={**(headers or {}), **bearer(token)} or None, **options)

    def reset(self, **options: Unpack[ResetArguments]) -> Any:  # type: ignore[override]  # narrower on purpose
        """Start an episode of a scenario and seed, of a task by `split` and `index` or `task_id`, or of a snapshot.

        `resume` continues an episode, `injected_state` forks a snapshot.

        The result contains a CompanyOSResetObservation, or the last observation of a continued episode.
        """
        return super().reset(**options)

    async def call_tool(self, tool: str, /, **arguments: Any) -> StepResult[CompanyOSObservation]:
        """Take one step: call a tool with the arguments of its schema."""
        result = await self._step_async(CallToolAction(tool_name=tool, arguments=arguments))
        return cast("StepResult[CompanyOSObservation]", result)

    async def list_tools(self) -> list[ToolSpec]:
        """Return the tools of the episode, or all tools before the first reset. This is not a step."""
        result = await self._step_async(ListToolsAction())
        if not isinstance(result.observation, ListToolsObservation):
            raise ApiError("The server returned no tool list.", "UNEXPECTED_RESPONSE")
        return [ToolSpec.model_validate(tool.model_dump()) for tool in result.observation.tools]

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

    async def snapshot(self) -> SnapshotInfo:
        """Save the state after the last step: databases, clock, score and scheduled chaos."""
        return await self._trainer_client().snapshot(self._require_episode_id())

    async def restore(self, snapshot: str | SnapshotInfo) -> CompanyOSState:
        """Restore this episode to its own snapshot, or to one of an episode with the same origin."""
        return self._remember(await self._trainer_client().restore(self._require_episode_id(), snapshot))

    async def fork(self, snapshot: str | SnapshotInfo, count: int = 1) -> list[Self]:
        """Create new episodes from a snapshot; return a connected session for each, which closes with this one.

        Either all are created or none: if one session fails, the others are closed and their episodes dropped.
        """
        opened = await self._open(snapshot, count)
        sessions = [cast("Self", self._create_session_client()) for _ in opened]
        try:
            pairs = zip(sessions, opened, strict=True)
            results = await asyncio.gather(
                *(session._attach(each.token) for session, each in pairs), return_exceptions=True
            )
            for failure in results:
                if failure is not None:
                    raise failure
        except BaseException:
            await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
            await self._drop([each.episode_id for each in opened])
            raise
        self._child_clients.extend(sessions)
        return sessions

    async def diff(self, from_: int = 0, to: int | None = None) -> EpisodeDiff:
        """Return the rows that differ between two steps of the episode; `to` defaults to the last step."""
        return await self._trainer_client().diff(self._require_episode_id(), from_=from_, to=to)

    async def verdict(self) -> EpisodeVerdict:
        """Return the verdict on the episode so far, with each check."""
        evidence = await self._trainer_client().evidence(self._require_episode_id())
        return EpisodeVerdict.model_validate(evidence["verdict"])

    async def service_urls(self) -> dict[str, str]:
        """Return the URLs of the episode's services by name, for REST requests; each request is a step."""
        return await self._trainer_client().service_urls(self._require_episode_id())

    async def drop(self) -> None:
        """Drop the episode with its databases."""
        await self._trainer_client().drop(self._require_episode_id())

    async def delete_snapshot(self, snapshot: str | SnapshotInfo) -> None:
        """Delete a snapshot; episodes that started from it continue."""
        await self._trainer_client().delete_snapshot(snapshot)

    async def resume(self, *, within_s: float = RESUME_WITHIN_S) -> StepResult[Any]:
        """Reconnect and continue the episode of the last reset; the result contains its last observation.

        Retries an unreachable or starting server for `within_s` seconds. Raises ApiError with the problem
        `unknown-episode` if the server dropped the episode.
        """
        token = self._episode_token
        if token is None:
            raise ApiError("not-reset: No episode was started in this session.", "not-reset")
        deadline, backoff_s = time.monotonic() + within_s, _INITIAL_BACKOFF_S
        while True:
            self._abort_connection()
            try:
                return await self._reset_async(resume=token)
            except (ConnectionError, ApiError) as failure:
                is_final = isinstance(failure, ApiError) and failure.problem not in _RETRYABLE_PROBLEMS
                if is_final or time.monotonic() + backoff_s > deadline:
                    raise
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _MAX_BACKOFF_S)

    async def new_session(self) -> Self:
        """Return another connected session with the same server; it closes with this one."""
        return cast("Self", await super().new_session())

    def sync(self) -> CompanyOSSyncEnv:
        """Return a synchronous version of this client."""
        return CompanyOSSyncEnv(self)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        return self

    async def _open(self, snapshot: str | SnapshotInfo, count: int) -> list[OpenedEpisode]:
        return await self._trainer_client().fork(snapshot, count)

    async def _attach(self, token: str) -> None:
        await self.connect()
        await self._reset_async(resume=token)

    async def _drop(self, episodes: list[str]) -> None:
        """Drop abandoned episodes; the server itself drops idle ones after a timeout."""
        for episode_id in episodes:
            with suppress(ConnectionError, TimeoutError, ApiError):
                await self._trainer_client().drop(episode_id)

    def _require_episode_id(self) -> str:
        """Return the id of the current episode."""
        if self._episode_id is None:
            raise ApiError("not-reset: No episode was started in this session.", "not-reset")
        return self._episode_id

    def _remember(self, state: CompanyOSState) -> CompanyOSState:
        if state.episode_id is not None:
            known = self._episode_token if state.episode_id == self._episode_id else None
            self._episode_id, self._episode_token = state.episode_id, state.token or known
        return state

    def _trainer_client(self) -> Trainer:
        """Return the HTTP client of the server; a client is bound to one event loop, like its connections."""
        if self._base_url is None:
            raise ApiError("not-reset: No episode was started in this session.", "not-reset")
        if self._trainer is None or self._trainer.loop is not asyncio.get_running_loop():
            self._trainer = Trainer(self._base_url, headers=self._headers)
        return self._trainer

    def _abort_connection(self) -> None:
        """Abort the connection without a closing handshake, which may never be answered."""
        ws, self._ws, self._ws_loop = self._ws, None, None
        if ws is not None and ws.transport is not None:
            ws.transport.abort()

    async def _connect_async(self) -> Self:
        try:
            await super()._connect_async()
        except ConnectionError as failure:
            if isinstance(failure.__cause__, InvalidStatus):
                response = failure.__cause__.response
                url, body = self._base_url or "", bytes(response.body or b"")
                raise error_from_response(url, response.status_code, body) from None
            raise
        self._is_closed = False
        return self

    async def _close_async(self) -> None:
        self._is_closed = True
        trainer, self._trainer = self._trainer, None
        try:
            await super()._close_async()
        finally:
            if trainer is not None and trainer.loop is asyncio.get_running_loop():
                await trainer.aclose()

    async def _reset_async(self, **options: Any) -> StepResult[Observation]:
        dumped = {
            name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in options.items()
        }
        result: StepResult[Observation] = await super()._reset_async(**dumped)
        await self._state_async()
        return result

    async def _send_and_receive(self, message: dict[str, Any]) -> dict[str, Any]:
        async with self._lock_for_loop():
            return await self._exchange(message)

    def _lock_for_loop(self) -> asyncio.Lock:
        """Return the lock that pairs each response with its request; each event loop has its own lock and socket."""
        loop = asyncio.get_running_loop()
        if self._call_lock is None or self._call_lock_loop is not loop:
            self._call_lock, self._call_lock_loop = asyncio.Lock(), loop
        return self._call_lock

    async def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        _check_size(message)
        if self._episode_id is not None and message.get("type") != "reset" and not self._is_connected():
            reason = "The session was closed" if self._is_closed else "The connection to the episode was lost"
            raise ConnectionError(f"{reason}; call resume() to continue the episode.")
        try:
            response: dict[str, Any] = await super()._send_and_receive(message)
        except ConnectionClosed as closed:
            raise ConnectionError(f"The connection was lost: {closed}") from None
        except RuntimeError as error:
            if (error_match := _SERVER_ERROR.fullmatch(str(error))) is None:
                raise
            raise ApiError(error_match["message"], error_match["code"]) from None
        return response

    def _is_connected(self) -> bool:
        """Return whether the connection is open and usable in this event loop."""
        is_open = self._ws is not None and self._ws.state is State.OPEN
        return is_open and self._ws_loop is asyncio.get_running_loop()

    def _step_payload(self, action: Action) -> dict[str, Any]:
        if not isinstance(action, CallToolAction | ListToolsAction | dict):
            raise TypeError(
                f"action must be a CallToolAction, a ListToolsAction or a dict; got {type(action).__name__}"
            )
        return action if isinstance(action, dict) else action.model_dump(mode="json", exclude={"metadata"})

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Any]:
        fields = dict(payload["observation"])
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = _observation_class(fields).model_validate({**fields, "reward": reward, "done": done})
        return StepResult(observation=observation, reward=reward, done=done, metadata=payload.get("metadata"))

    def _parse_state(self, payload: dict[str, Any]) -> CompanyOSState:
        return self._remember(CompanyOSState.model_validate(payload))


def _synchronous(
    method: Callable[Concatenate[CompanyOSEnv, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[CompanyOSSyncEnv, P], T]:
    """Return a method that runs the session's method of the same name and returns its result."""

    @wraps(method)
    def run(self: CompanyOSSyncEnv, /, *args: P.args, **options: P.kwargs) -> T:
        return cast(T, self._run(getattr(self._async, method.__name__)(*args, **options)))

    return run


class CompanyOSSyncEnv(SyncEnvClient[Action, Observation, CompanyOSState]):
    """A session for synchronous code: the methods of CompanyOSEnv with direct return values."""

    _async: CompanyOSEnv

    call_tool = _synchronous(CompanyOSEnv.call_tool)
    list_tools = _synchronous(CompanyOSEnv.list_tools)
    list_splits = _synchronous(CompanyOSEnv.list_splits)
    num_tasks = _synchronous(CompanyOSEnv.num_tasks)
    list_tasks = _synchronous(CompanyOSEnv.list_tasks)
    get_task = _synchronous(CompanyOSEnv.get_task)
    get_task_range = _synchronous(CompanyOSEnv.get_task_range)
    snapshot = _synchronous(CompanyOSEnv.snapshot)
    restore = _synchronous(CompanyOSEnv.restore)
    diff = _synchronous(CompanyOSEnv.diff)
    verdict = _synchronous(CompanyOSEnv.verdict)
    service_urls = _synchronous(CompanyOSEnv.service_urls)
    drop = _synchronous(CompanyOSEnv.drop)
    delete_snapshot = _synchronous(CompanyOSEnv.delete_snapshot)
    resume = _synchronous(CompanyOSEnv.resume)

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


def _check_size(message: dict[str, Any]) -> None:
    """Raise the server's error for a message beyond its limit: it closes the connection to one that is much larger."""
    size = len(json.dumps(message))
    if size > MAX_BODY_BYTES:
        text = f"body-too-large: The message must have at most {MAX_BODY_BYTES} bytes; got {size}."
        raise ApiError(text, WSErrorCode.INVALID_JSON)


def _observation_class(fields: dict[str, Any]) -> type[Observation]:
    if "tools" in fields:
        return ListToolsObservation
    return CompanyOSObservation if "tool_name" in fields else CompanyOSResetObservation


CompanyosEnv, CompanyosAction, CompanyosObservation = CompanyOSEnv, CallToolAction, CompanyOSObservation
"""Names that OpenEnv's AutoEnv and AutoAction derive from the environment name."""
