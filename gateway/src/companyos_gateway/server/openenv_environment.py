"""The environment as OpenEnv knows it: one instance per connection, holding at most one episode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation
from openenv.core.rubrics.base import Rubric
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
from companyos_gateway.server.house import House
from companyos_gateway.server.rubric_tree import EpisodeRubric
from companyos_gateway.tasks import TaskNotFoundError, TaskSet

ENVIRONMENT_NAME = ENVIRONMENT
DESCRIPTION = (
    "A simulated enterprise for AI agents: TicketDesk, DataHub and ApprovalFlow as real services, tasks of office work "
    "that are judged from what the databases hold in the end."
)
SYNC_DEADLINE_S = 60.0

T = TypeVar("T")


class CompanyOSEnvironment(Environment[Action, Observation, CompanyOSState]):
    """One connection's view of the house. Building one takes microseconds; nothing here blocks the event loop."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = True

    def __init__(self, house: House) -> None:
        self._house = house
        self._episode: Episode | None = None
        self._rubric: Rubric | None = None
        super().__init__()

    @property
    def rubric(self) -> Rubric | None:
        """What the verdict on the episode rests on; None before the first reset. It is made when somebody looks."""
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
        before = self._episode if self._episode is not None and self._episode.holder is self else None
        episode = await self._house.begin(options, before, self)
        if before is not None and before is not episode and not before.closed:
            self._house.detach(before, self)
        self._episode, self.rubric = episode, None
        return await self._house.told(episode)

    async def step_async(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Take a step, or list the tools; raises NotResetError, EpisodeDoneError or EpisodeClosedError."""
        engine = self._engine()
        if isinstance(action, ListToolsAction):
            done = self._episode is not None and self._episode.done
            return build_tools_observation(engine.tools(self._episode), done=done)
        if not isinstance(action, CallToolAction):
            raise InvalidActionError(f"{type(action).__name__} is no action of this environment.")
        if self._episode is None:
            raise NotResetError
        if self._episode.holder is not self:
            raise EpisodeTakenOverError
        observation = await self._house.step(self._episode, action.tool_name, action.arguments)
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
        with _known_tasks():
            return self._task_set().size(split)

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the tasks of a split without their briefs; raises UnknownTaskError (400)."""
        return self.get_task_range(split)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one task with its brief; raises UnknownTaskError (400)."""
        with _known_tasks():
            task_set = self._task_set()
            return task_set.task(task_set.position(split, index)).model_dump(mode="json")

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the tasks of a slice, as Python slices, without their briefs; raises UnknownTaskError (400)."""
        with _known_tasks():
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
            self._house.call_soon(lambda: self._house.detach(episode, self))

    def _engine(self) -> EpisodeEngine:
        return self._house.engine()

    def _task_set(self) -> TaskSet:
        return self._engine().task_set

    def _wait_for(self, story: Callable[[], Coroutine[Any, Any, T]]) -> T:
        loop = self._house.loop()
        waiting: Future[T] = asyncio.run_coroutine_threadsafe(story(), loop)
        return waiting.result(SYNC_DEADLINE_S)


def reset_options(asked: dict[str, Any]) -> ResetOptions:
    """Return the validated options; raises InvalidResetError naming every place that does not fit."""
    try:
        return ResetOptions.model_validate({name: value for name, value in asked.items() if value is not None})
    except ValidationError as error:
        places = [{"place": _place(found["loc"]), "reason": found["msg"]} for found in error.errors()]
        named = "; ".join(f"{place['place']}: {place['reason']}" for place in places)
        raise InvalidResetError(named, errors=places) from None


@contextmanager
def _known_tasks() -> Iterator[None]:
    try:
        yield
    except TaskNotFoundError as unknown:
        raise UnknownTaskError(str(unknown)) from None


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "reset"
