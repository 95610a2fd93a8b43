"""Plays one episode with a policy over a session and records every observation."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from websockets.exceptions import WebSocketException

from companyos.contract import (
    CompanyOSObservation,
    CompanyOSResetObservation,
    CompanyOSState,
    EpisodeRecord,
    Outcome,
)
from companyos.errors import ApiError
from companyos.options import ResetArguments
from companyos.policies import (
    Call,
    EpisodeOverError,
    InfrastructureError,
    Policy,
    PolicyUnavailableError,
    ReportsUsage,
    StepView,
    TaskView,
)
from companyos.policies.json_values import sanitize_json
from companyos.runner.run_reader import episode_name
from companyos_shared.streams import Stream, digest

if TYPE_CHECKING:
    from openenv.core.client_types import StepResult

    from companyos.client import CompanyOSEnv

SERVER_FAILURES = (OSError, TimeoutError, WebSocketException, ApiError)
"""Exceptions of a call that are caused by the server."""

UNREADABLE_CODES = frozenset({"INVALID_JSON", "VALIDATION_ERROR"})
"""Error codes of unreadable calls, such as one with a number that JSON cannot represent: the policy's fault."""

GIVE_UP: Final = {"outcome": "impossible", "summary": "The policy gave up."}
"""Arguments of the `finish` that ends an abandoned episode: it costs a step and a failure, and never succeeds."""


class EnvironmentFailureError(Exception):
    """Raised if a call failed on the server's side, or the policy's model failed."""


class ResetRejectedError(Exception):
    """Raised if the server rejects the reset."""


@dataclass(frozen=True, kw_only=True)
class EpisodePlan:
    """An episode to play, and its policy; the seed of a task is not known in advance."""

    scenario: str
    seed: int | None = None
    chaos: int
    policy: str
    chaos_overrides: tuple[tuple[str, float], ...] = ()
    """Rates by chaos kind or feature of shifts."""
    task_id: str | None = None
    trial: int = 1
    """Trial number of the same task: the policy has another random stream, the company is the same."""

    @property
    def name(self) -> str:
        """Name of the episode's files."""
        return episode_name(self.scenario, self.seed, self.chaos, self.policy, self.task_id, self.trial)

    @property
    def reset_arguments(self) -> ResetArguments:
        """Arguments of the reset."""
        if self.task_id is not None:
            return ResetArguments(task_id=self.task_id)
        arguments = ResetArguments(scenario=self.scenario, chaos=self.chaos)
        if self.chaos_overrides:
            arguments["chaos_overrides"] = dict(self.chaos_overrides)
        return arguments if self.seed is None else ResetArguments(**arguments, seed=self.seed)

    @property
    def stream(self) -> Stream:
        """Random stream of the policy."""
        trial_key = () if self.trial == 1 else (self.trial,)
        if self.task_id is not None:
            return Stream("policy", self.policy, self.task_id, *trial_key)
        return Stream("policy", self.policy, self.scenario, str(self.seed), self.chaos, *trial_key)


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """One line of a trajectory."""

    step: int
    tool: str
    arguments: dict[str, Any]
    result: Any
    error: dict[str, str] | None
    reward: float
    done: bool
    now: str
    fault: str | None = None
    """Kind of the injected fault; set once the episode has ended and its evidence was fetched."""

    def as_json(self) -> dict[str, Any]:
        """Return the line as JSON; `fault` is absent if there was none."""
        line = asdict(self)
        return line if self.fault is not None else {name: value for name, value in line.items() if name != "fault"}


@dataclass(frozen=True, kw_only=True)
class PlayedEpisode:
    """Result of an episode. Episodes of an earlier run contain neither steps nor messages."""

    plan: EpisodePlan
    record: EpisodeRecord
    steps: tuple[StepLine, ...] = ()
    episode_id: str | None = None
    messages: tuple[dict[str, Any], ...] = ()
    """Messages of a policy that calls a model."""

    @property
    def trouble(self) -> str | None:
        """Error of the environment, the policy or its model."""
        return self.record.trouble


StepObserver = Callable[[StepLine, StepView], None]
StartObserver = Callable[[TaskView], None]


@dataclass
class _EpisodeLog:
    observations: list[Any] = field(default_factory=list)
    steps: list[StepLine] = field(default_factory=list)
    is_over: bool = False

    def add(self, result: StepResult[Any]) -> None:
        observation = result.observation.model_dump(mode="json", exclude={"reward", "done"})
        self.observations.append([observation, result.reward, result.done])
        self.is_over = result.done


async def play_episode(
    env: CompanyOSEnv,
    plan: EpisodePlan,
    policy: Policy,
    *,
    on_start: StartObserver | None = None,
    on_step: StepObserver | None = None,
    time_limit_s: float | None = None,
) -> PlayedEpisode:
    """Play one episode on a connected session.

    After `time_limit_s` wall-clock seconds the policy is stopped and the episode is abandoned. Raises
    ResetRejectedError and PolicyUnavailableError; later failures are recorded.
    """
    log = _EpisodeLog()
    task = await _start(env, plan, log)
    if on_start is not None:
        on_start(task)
    try:
        trouble, is_broken = await _play(env, policy, task, log, on_step, time_limit_s), False
    except EnvironmentFailureError as failure:
        trouble, is_broken = str(failure), True
    played = _make_episode(plan, log, await _state(env), trouble=trouble, is_broken=is_broken)
    return _with_usage(played, policy) if isinstance(policy, ReportsUsage) else played


def _with_usage(played: PlayedEpisode, policy: ReportsUsage) -> PlayedEpisode:
    record = played.record.model_copy(update={"usage": policy.usage})
    return replace(played, record=record, messages=tuple(sanitize_json(policy.transcript)))


async def _start(env: CompanyOSEnv, plan: EpisodePlan, log: _EpisodeLog) -> TaskView:
    try:
        first: StepResult[CompanyOSResetObservation] = await env.reset(**plan.reset_arguments)
        tools = await env.list_tools()
    except ApiError as error:
        raise ResetRejectedError(error.message) from None
    log.add(first)
    return TaskView.from_observation(first.observation, scenario=plan.scenario, tools=tools, stream=plan.stream)


async def _state(env: CompanyOSEnv) -> CompanyOSState | None:
    """Return the state of the episode; None if the server no longer has it."""
    try:
        state: CompanyOSState = await env.state()
    except SERVER_FAILURES:
        return None
    return state if state.episode_id is not None else None


async def _play(
    env: CompanyOSEnv,
    policy: Policy,
    task: TaskView,
    log: _EpisodeLog,
    on_step: StepObserver | None,
    time_limit_s: float | None,
) -> str | None:
    """Let the policy play until it returns or the episode ends; return the error of the policy, if any."""

    in_flight: asyncio.Task[StepView] | None = None

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        nonlocal in_flight
        if log.is_over:
            raise EpisodeOverError
        if not isinstance(arguments, dict):
            raise TypeError(f"the arguments of a call must be a dict; got {arguments!r}")
        in_flight = asyncio.create_task(take_step(tool, arguments))
        return await asyncio.shield(in_flight)

    call.__qualname__ = "call"  # as errors of a policy name it

    async def take_step(tool: str, arguments: dict[str, Any]) -> StepView:
        result = await _call_tool(env, tool, arguments)
        log.add(result)
        line, view = _step(task.steps_left - result.observation.steps_left, arguments, result)
        log.steps.append(line)
        if on_step is not None:
            on_step(line, view)
        return view

    try:
        trouble = await _run_policy(policy, task, call, time_limit_s)
        if in_flight is not None and not in_flight.done():
            await in_flight  # the time limit expired during a step, which must be recorded
        if not log.is_over and not await _was_ended_elsewhere(env):
            await call("finish", dict(GIVE_UP))
    finally:
        if in_flight is not None:
            in_flight.cancel()  # a step that still runs here belongs to a cancelled or failed episode
            await asyncio.gather(in_flight, return_exceptions=True)
    return trouble


async def _run_policy(policy: Policy, task: TaskView, call: Call, time_limit_s: float | None) -> str | None:
    """Let the policy play until it returns, the episode ends or its time is up; return the error of the policy."""
    try:
        async with asyncio.timeout(time_limit_s) as limit:
            playing: object = policy.play(task, call)
            if not isawaitable(playing):
                return "play of the policy must be asynchronous: async def play(self, task, call)"
            await playing
    except EpisodeOverError:
        pass
    except (EnvironmentFailureError, PolicyUnavailableError):
        raise
    except InfrastructureError as failure:
        raise EnvironmentFailureError(str(failure)) from failure
    except Exception as error:  # noqa: BLE001  # any error of a policy is recorded, and its episode counts
        if isinstance(error, TimeoutError) and limit.expired():
            return f"the policy took longer than {time_limit_s:g} s"
        return f"the policy raised {type(error).__name__}: {error} ({_place(policy, error)})"
    return None


def _place(policy: Policy, error: Exception) -> str:
    """Return the file and line that raised an error: the innermost of the policy's own file, if there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    module = sys.modules.get(type(policy).__module__)
    own = [frame for frame in frames if frame.filename == getattr(module, "__file__", None)]
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}"


async def _was_ended_elsewhere(env: CompanyOSEnv) -> bool:
    """Return whether another client ended the episode, for example a person in the browser."""
    state = await _state(env)
    return state is not None and state.done


async def _call_tool(env: CompanyOSEnv, tool: str, arguments: dict[str, Any]) -> StepResult[CompanyOSObservation]:
    """Call a tool. Raises EnvironmentFailureError, and ApiError for an unreadable call."""
    try:
        return await env.call_tool(tool, **arguments)
    except SERVER_FAILURES as error:
        if isinstance(error, ApiError) and error.code in UNREADABLE_CODES:
            raise
        raise EnvironmentFailureError(f"{type(error).__name__}: {error}") from error


def step_view(result: StepResult[CompanyOSObservation]) -> StepView:
    """Return a step's result as a policy sees it."""
    step_observation = result.observation
    return StepView(
        result=step_observation.result,
        error=step_observation.error.error_type.value if step_observation.error is not None else None,
        message=step_observation.error.message if step_observation.error is not None else None,
        reward=float(result.reward or 0.0),
        done=result.done,
        now=step_observation.now,
        steps_left=step_observation.steps_left,
    )


def _step(
    number: int, arguments: dict[str, Any], result: StepResult[CompanyOSObservation]
) -> tuple[StepLine, StepView]:
    """Return the stored step, and a separate copy for the policy."""
    step_observation = result.observation
    error = step_observation.error.model_dump(mode="json") if step_observation.error is not None else None
    line = StepLine(
        step=number,
        tool=step_observation.tool_name,
        arguments=deepcopy(arguments),
        result=deepcopy(step_observation.result),
        error=cast("dict[str, str] | None", error),
        reward=float(result.reward or 0.0),
        done=result.done,
        now=step_observation.model_dump(mode="json", include={"now"})["now"],
    )
    return line, step_view(result)


def _make_episode(
    plan: EpisodePlan, log: _EpisodeLog, state: CompanyOSState | None, *, trouble: str | None, is_broken: bool
) -> PlayedEpisode:
    if not is_broken and (state is None or not state.done):
        trouble, is_broken = trouble or "the episode has not ended", True
    if trouble is None and state is not None and state.outcome is Outcome.INFRA_ERROR and log.steps:
        last = log.steps[-1]
        trouble = f"step {last.step}: {(last.error or {}).get('message')} The log of the gateway has the cause."
    record = EpisodeRecord.model_validate(
        {
            "scenario": plan.scenario,
            "seed": state.seed if state is not None and plan.seed is None else plan.seed,
            "chaos": plan.chaos,
            "chaos_overrides": dict(plan.chaos_overrides),
            "policy": plan.policy,
            "success": not is_broken and state is not None and bool(state.success),
            "return": state.return_ if state is not None else sum(line.reward for line in log.steps),
            "steps": len(log.steps) if is_broken or state is None else state.step_count,
            "outcome": Outcome.INFRA_ERROR if is_broken or state is None else state.outcome,
            "digest": digest(log.observations),
            "task_id": plan.task_id,
            "task_set": state.task_set if state is not None else None,
            "trouble": sanitize_json(trouble),
            "trial": plan.trial,
        }
    )
    return PlayedEpisode(
        plan=plan,
        record=record,
        steps=tuple(log.steps),
        episode_id=state.episode_id if state is not None else None,
    )
