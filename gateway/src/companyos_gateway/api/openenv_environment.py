"""The environment as OpenEnv knows it: one instance per connection, holding at most one episode."""

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

from companyos.contract import ENVIRONMENT, CompanyOSState, ResetOptions
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
from companyos_gateway.evaluation import Milestone, Verdict
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.tasks import TaskNotFoundError, TaskSet

ENVIRONMENT_NAME = ENVIRONMENT
DESCRIPTION = (
    "A simulated enterprise for AI agents: TicketDesk, DataHub and ApprovalFlow as real services, tasks of office work "
    "that are judged from what the databases hold in the end."
)
SYNC_DEADLINE_S = 60.0

T = TypeVar("T")


class CompanyOSEnvironment(Environment[Action, Observation, CompanyOSState]):
    """One connection's environment. Creating one takes microseconds; nothing here blocks the event loop."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = True

    def __init__(self, runtime: GatewayRuntime) -> None:
        self._runtime = runtime
        self._episode: Episode | None = None
        self._rubric: Rubric | None = None
        super().__init__()

    @property
    def rubric(self) -> Rubric | None:
        """The rubric of the episode, built on first access; None before the first reset."""
        if self._rubric is None and self._episode is not None:
            self._rubric = EpisodeRubric(self._episode)
            self._rubric(None, self._episode.last_observation())
        return self._rubric

    @rubric.setter
    def rubric(self, rubric: Rubric | None) -> None:
        self._rubric = rubric

    async def reset_async(self, /, seed: Any = None, episode_id: Any = None, **kwargs: Any) -> Observation:
        """Start an episode, or go on with one; raises a GatewayError, and the episode so far then goes on."""
        options = reset_options({"seed": seed, "episode_id": episode_id, **kwargs})
        previous = self._episode if self._episode is not None and self._episode.holder is self else None
        episode = await self._runtime.reset(options, previous, self)
        if previous is not None and previous is not episode and not previous.closed:
            self._runtime.detach(previous, self)
        self._episode, self.rubric = episode, None
        return await self._runtime.last_observation(episode)

    async def step_async(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Take a step, or list the tools; raises NotResetError, EpisodeDoneError or EpisodeClosedError."""
        engine = self._engine()
        if isinstance(action, ListToolsAction):
            done = self._episode is not None and self._episode.done
            return build_tools_observation(engine.tools(self._episode), done=done)
        if not isinstance(action, CallToolAction):
            raise InvalidActionError(
                f"Unsupported action type {type(action).__name__}; use CallToolAction or ListToolsAction."
            )
        if self._episode is None:
            raise NotResetError
        if self._episode.holder is not self:
            raise EpisodeTakenOverError
        observation = await self._runtime.step(self._episode, action.tool_name, action.arguments)
        if self._rubric is not None:
            self._rubric(action, observation)
        return observation

    def reset(self, /, seed: Any = None, episode_id: Any = None, **kwargs: Any) -> Observation:
        """Start an episode from another thread than the event loop's."""
        return self._wait_for(partial(self.reset_async, seed, episode_id, **kwargs))

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Take a step from another thread than the event loop's."""
        return self._wait_for(partial(self.step_async, action, timeout_s, **kwargs))

    @property
    def state(self) -> CompanyOSState:
        """The trainer's view; empty before the first reset."""
        return CompanyOSState.model_validate({}) if self._episode is None else self._episode.state()

    def list_splits(self) -> list[dict[str, Any]]:
        """Return the splits of the task set with their sizes."""
        return [split.model_dump(mode="json") for split in self._task_set().splits()]

    def num_tasks(self, split: str) -> int:
        """Return how many tasks a split has; raises UnknownTaskError (400)."""
        with _task_errors():
            return self._task_set().size(split)

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the tasks of a split without their briefs; raises UnknownTaskError (400)."""
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one task with its brief; raises UnknownTaskError (400)."""
        with _task_errors():
            task_set = self._task_set()
            return task_set.task(task_set.position(split, index)).model_dump(mode="json")

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the tasks of a slice, as Python slices, without their briefs; raises UnknownTaskError (400)."""
        with _task_errors():
            return [
                task.model_dump(mode="json", exclude={"brief"}) for task in self._task_set().tasks(split, start, stop)
            ]

    def get_metadata(self) -> EnvironmentMetadata:
        """Return what this environment is."""
        return EnvironmentMetadata(name=ENVIRONMENT_NAME, description=DESCRIPTION, version=VERSION, author="CompanyOS")

    def close(self) -> None:
        """Leave the episode detached; it is dropped when nobody comes back. Called from a thread of the framework."""
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
    """Return the validated options; raises InvalidResetError naming every place that does not fit."""
    try:
        return ResetOptions.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        errors = [{"place": _field_path(found["loc"]), "reason": found["msg"]} for found in error.errors()]
        detail = "; ".join(f"{error['place']}: {error['reason']}" for error in errors)
        raise InvalidResetError(detail, errors=errors) from None


@contextmanager
def _task_errors() -> Iterator[None]:
    try:
        yield
    except TaskNotFoundError as unknown:
        raise UnknownTaskError(str(unknown)) from None


def _field_path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "reset"


class CheckRubric(Rubric):
    """One check of the evidence so far: 1 if it holds, else 0."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._holds = holds

    def forward(self, action: Any, observation: Any) -> float:
        """Look once more."""
        return float(self._holds())


class CheckRubrics(RubricDict):
    """Findings by name; its own score is the share of them that hold."""

    def __init__(self, findings: Mapping[str, Callable[[], bool]]) -> None:
        super().__init__({name: CheckRubric(holds) for name, holds in findings.items()})

    def forward(self, action: Any, observation: Any) -> float:
        """Look at each."""
        scores = [finding(action, observation) for finding in self.children()]
        return sum(scores) / len(scores) if scores else 1.0


class EpisodeRubric(Rubric):
    """The reward of an episode's last step; `checks`, `milestones` and `undamaged` say what it rests on.

    Nothing is judged here: the scores below are read from the episode's verdict, whenever there is a new one.
    """

    def __init__(self, episode: Episode) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._episode = episode
        self._last_verdict: Verdict | None = None
        self.checks = CheckRubrics({check.id: self._passed(at) for at, check in enumerate(self._verdict.checks)})
        self.milestones = CheckRubrics(
            {milestone.id: self._reached(milestone) for milestone in episode.task.instance.rubric.milestones}
        )
        self.undamaged = CheckRubric(lambda: not self._verdict.damage)

    def forward(self, action: Any, observation: Any) -> float:
        """Return what the step paid."""
        if self._last_verdict is not self._verdict:
            self._last_verdict = self._verdict
            for part in self.children():
                part(action, observation)
        return float(observation.reward)

    @property
    def _verdict(self) -> Verdict:
        return self._episode.progress.verdict

    def _passed(self, at: int) -> Callable[[], bool]:
        return lambda: self._verdict.checks[at].passed

    def _reached(self, milestone: Milestone) -> Callable[[], bool]:
        return lambda: milestone.is_reached(self._episode.evidence)
