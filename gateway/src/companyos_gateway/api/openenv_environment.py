"""The OpenEnv environment: an instance per connection, with at most one episode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation
from openenv.core.rubrics.base import Rubric
from openenv.core.rubrics.containers import RubricDict
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from companyos.contract import ENVIRONMENT, CompanyOSState, ResetOptions
from companyos_gateway.chaos import describe_unknown_level
from companyos_gateway.engine.argument_errors import describe_invalid_value
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import VERSION, Episode
from companyos_gateway.engine.errors import (
    EpisodeTakenOverError,
    InvalidActionError,
    InvalidResetError,
    NotResetError,
    UnknownTaskError,
)
from companyos_gateway.engine.observations import build_tools_observation
from companyos_gateway.evaluation import Milestone, Standing, Verdict
from companyos_gateway.evaluation.rubric import DECLARED_CHECK_ID
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.tasks import TaskNotFoundError, TaskSet

ENVIRONMENT_NAME = ENVIRONMENT
DESCRIPTION = (
    "A simulated enterprise for AI agents: office tasks in TicketDesk, DataHub and ApprovalFlow, three real services. "
    "Episodes are evaluated from the final state of the databases."
)
SYNC_DEADLINE_S = 60.0

T = TypeVar("T")


class CompanyOSEnvironment(Environment[Action, Observation, CompanyOSState]):
    """The environment of one connection. Cheap to create; its asynchronous methods do not block the event loop."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = True

    def __init__(self, runtime: GatewayRuntime) -> None:
        self._runtime = runtime
        self._episode: Episode | None = None
        self._rubric: Rubric | None = None
        super().__init__()

    @property
    def rubric(self) -> Rubric | None:
        """The rubric of the episode, created on first access; None before the first reset."""
        if self._rubric is None and self._episode is not None:
            self._rubric = EpisodeRubric(self._episode)
            self._rubric(None, self._episode.last_observation())
        return self._rubric

    @rubric.setter
    def rubric(self, rubric: Rubric | None) -> None:
        self._rubric = rubric

    async def reset_async(self, /, seed: Any = None, episode_id: Any = None, **kwargs: Any) -> Observation:
        """Start or resume an episode.

        On a GatewayError, the connection keeps its current episode, unless the new one was started and only its first
        screenshot failed.
        """
        options = reset_options({"seed": seed, "episode_id": episode_id, **kwargs})
        previous = self._episode if self._episode is not None and self._episode.holder is self else None
        episode = await self._runtime.reset(options, previous, self)
        if previous is not None and previous is not episode and not previous.closed:
            self._runtime.detach(previous, self)
        self._episode, self.rubric = episode, None
        return await self._runtime.last_observation(episode)

    async def step_async(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Take a step, or list the tools; raises NotResetError, EpisodeDoneError or EpisodeClosedError (409)."""
        engine = self._engine()
        if isinstance(action, ListToolsAction):
            done = self._episode is not None and self._episode.done
            return build_tools_observation(engine.tools(self._episode), done=done)
        if not isinstance(action, CallToolAction):
            raise InvalidActionError(f"action must be CallToolAction or ListToolsAction; got {type(action).__name__}")
        if self._episode is None:
            raise NotResetError
        if self._episode.holder is not self:
            raise EpisodeTakenOverError
        observation = await self._runtime.step(self._episode, action.tool_name, action.arguments)
        if self._rubric is not None:
            self._rubric(action, observation)
        return observation

    def reset(self, /, seed: Any = None, episode_id: Any = None, **kwargs: Any) -> Observation:
        """Start an episode from a thread other than the event loop's."""
        return self._wait_for(partial(self.reset_async, seed, episode_id, **kwargs))

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Take a step from a thread other than the event loop's."""
        return self._wait_for(partial(self.step_async, action, timeout_s, **kwargs))

    @property
    def state(self) -> CompanyOSState:
        """The state of the episode for its trainer; default values before the first reset."""
        return CompanyOSState.model_validate({}) if self._episode is None else self._episode.state()

    def list_splits(self) -> list[dict[str, Any]]:
        """Return the splits of the task set with their sizes."""
        return [split.model_dump(mode="json") for split in self._task_set().splits()]

    def num_tasks(self, split: str) -> int:
        """Return the number of tasks in a split; raises UnknownTaskError (400)."""
        with _task_errors():
            return self._task_set().size(split)

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the tasks of a split without their briefs; raises UnknownTaskError (400)."""
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one task with its brief; raises UnknownTaskError (400)."""
        with _task_errors():
            return self._task_set().task(split, index).model_dump(mode="json")

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Return a slice of the tasks, with Python's slice semantics, without briefs; raises UnknownTaskError (400)."""
        with _task_errors():
            return [
                task.model_dump(mode="json", exclude={"brief"}) for task in self._task_set().tasks(split, start, stop)
            ]

    def get_metadata(self) -> EnvironmentMetadata:
        """Return name, description and version of the environment."""
        return EnvironmentMetadata(name=ENVIRONMENT_NAME, description=DESCRIPTION, version=VERSION, author="CompanyOS")

    def close(self) -> None:
        """Detach the episode, which is dropped unless a client resumes it. OpenEnv calls this from a thread."""
        episode = self._episode
        if episode is not None and not episode.closed:
            self._runtime.call_soon(lambda: self._runtime.detach(episode, self))

    def _engine(self) -> EpisodeEngine:
        return self._runtime.engine()

    def _task_set(self) -> TaskSet:
        return self._engine().task_set

    def _wait_for(self, operation: Callable[[], Coroutine[Any, Any, T]]) -> T:
        loop = self._runtime.loop()
        future: Future[T] = asyncio.run_coroutine_threadsafe(operation(), loop)
        return future.result(SYNC_DEADLINE_S)


def reset_options(values: dict[str, Any]) -> ResetOptions:
    """Return the validated options; raises InvalidResetError (422) with all invalid fields."""
    try:
        return ResetOptions.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        items = error.errors()
        unknown = [str(item["loc"][0]) for item in items if item["type"] == "extra_forbidden" and len(item["loc"]) == 1]
        errors = [{"place": _field_path(item["loc"]), "reason": _reason(item)} for item in items]
        details = [f"{item['place']}: {item['reason']}" for item in errors if item["place"] not in unknown]
        if unknown:
            names = ", ".join(f'"{name}"' for name in unknown)
            details.append(f"unknown option {names}; accepted: {', '.join(ResetOptions.model_fields)}")
        raise InvalidResetError("; ".join(details), errors=errors) from None


def _reason(item: ErrorDetails) -> str:
    is_level = item["loc"] == ("chaos",) and item["type"].endswith("_than_equal")
    return describe_unknown_level(item["input"]) if is_level else describe_invalid_value(item)


@contextmanager
def _task_errors() -> Iterator[None]:
    try:
        yield
    except TaskNotFoundError as unknown:
        raise UnknownTaskError(str(unknown)) from None


def _field_path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "reset"


class CheckRubric(Rubric):
    """Rubric of a single condition: 1 if it holds in the current evidence, else 0."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._holds = holds

    def forward(self, action: Any, observation: Any) -> float:
        """Return the current value of the condition."""
        return float(self._holds())


class CheckRubrics(RubricDict):
    """Rubrics of conditions by name. The score is the share of conditions that hold."""

    def __init__(self, conditions: Mapping[str, Callable[[], bool]]) -> None:
        super().__init__({name: CheckRubric(holds) for name, holds in conditions.items()})

    def forward(self, action: Any, observation: Any) -> float:
        """Return the share of conditions that hold, 1 if there are none."""
        scores = [rubric(action, observation) for rubric in self.children()]
        return sum(scores) / len(scores) if scores else 1.0


class EpisodeRubric(Rubric):
    """Rubric whose score is the reward of the last step; `checks`, `milestones` and `undamaged` are its parts.

    Its parts are evaluated whenever a step may have changed them, unless the task's rubric raises an exception.
    """

    def __init__(self, episode: Episode) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._episode = episode
        self._standing: Standing | None = None
        self._verdict: Verdict | None = None
        check_ids = [check.id for check in episode.task.instance.rubric.checks] + [DECLARED_CHECK_ID]
        self.checks = CheckRubrics({check_id: self._passed(index) for index, check_id in enumerate(check_ids)})
        self.milestones = CheckRubrics(
            {milestone.id: self._reached(milestone) for milestone in episode.task.instance.rubric.milestones}
        )
        self.undamaged = CheckRubric(lambda: self._verdict is not None and not self._verdict.damage)

    def forward(self, action: Any, observation: Any) -> float:
        """Return the reward of the step."""
        standing = self._episode.progress.standing
        if standing is not self._standing:
            self._standing, self._verdict = standing, self._episode.progress.find_verdict(self._episode.task)
            for part in self.children() if self._verdict is not None else ():
                part(action, observation)
        return float(observation.reward)

    def _passed(self, index: int) -> Callable[[], bool]:
        return lambda: self._verdict is not None and self._verdict.checks[index].passed

    def _reached(self, milestone: Milestone) -> Callable[[], bool]:
        return lambda: milestone.is_reached(self._episode.evidence)
