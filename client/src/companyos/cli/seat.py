"""A seat for a person: the runner plays it like any policy, and whoever sits there calls tools from another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from companyos.cli.session import Server

if TYPE_CHECKING:
    from companyos.client import CompanyOSEnv
    from companyos.contract import CompanyOSState
    from companyos.policies import StepView, TaskView
    from companyos.policies.policy import Call
    from companyos.runner import EpisodePlan, PlayedEpisode
    from companyos.trainer import Trainer

PERSON = "person"
"""What the policy of a person is called in a run."""


@dataclass(frozen=True)
class Begun:
    """An episode that waits for its person."""

    task: TaskView
    state: CompanyOSState


@dataclass(frozen=True)
class Played:
    """An episode that a person has played, and whether by Ctrl-C it was left."""

    episode: PlayedEpisode
    is_interrupted: bool


Sit = Callable[["Begun", "Seat"], None]
"""What the person does; it raises KeyboardInterrupt where the person goes."""


class Seat:
    """A policy whose steps are decided elsewhere: the event loop is never blocked by whoever thinks."""

    name = PERSON

    def __init__(self, env: CompanyOSEnv, begun: Future[tuple[Begun, Seat]]) -> None:
        self._env = env
        self._begun = begun
        self._loop = asyncio.get_running_loop()
        self._left: asyncio.Future[None] = self._loop.create_future()
        self._call: Call | None = None

    async def play(self, task: TaskView, call: Call) -> None:
        """Wait until the person has left, or what broke the episode is told."""
        self._call = call
        self._begun.set_result((Begun(task, await self._env.state()), self))
        await self._left

    def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        """Take a step, from the person's thread. Raises what the runner's call raises."""
        assert self._call is not None, "nobody sits down before the episode has begun"
        return asyncio.run_coroutine_threadsafe(self._taken(self._call, tool, arguments), self._loop).result()

    def state(self) -> CompanyOSState:
        """Return where the episode stands: at its desk steps are taken as well. Raises HouseFailed."""
        from companyos.runner.episode import HOUSE_FAILURES, HouseFailed

        try:
            return asyncio.run_coroutine_threadsafe(self._standing(), self._loop).result()
        except HOUSE_FAILURES as failure:
            raise HouseFailed(f"{type(failure).__name__}: {failure}") from failure

    def leave(self, failure: BaseException | None = None) -> None:
        """Get up, from the person's thread; `failure` is what broke the episode."""
        self._loop.call_soon_threadsafe(self._get_up, failure)

    async def _taken(self, call: Call, tool: str, arguments: dict[str, Any]) -> StepView:
        return await call(tool, arguments)

    async def _standing(self) -> CompanyOSState:
        state: CompanyOSState = await self._env.state()
        return state

    def _get_up(self, failure: BaseException | None) -> None:
        if self._left.done():
            return
        if failure is None:
            self._left.set_result(None)
        else:
            self._left.set_exception(failure)


def play_seated(server: Server, plan: EpisodePlan, folder: Path, sit: Sit) -> Played:
    """Play an episode by a person and keep it; `sit` runs in this thread, the episode in another.

    Raises what `play_all` raises before and at the begin of an episode.
    """
    begun: Future[tuple[Begun, Seat]] = Future()
    ended: Future[PlayedEpisode] = Future()

    def run() -> None:
        try:
            ended.set_result(asyncio.run(_episode(server, plan, folder, begun)))
        except BaseException as failure:  # noqa: BLE001  # it is raised where the person sits
            ended.set_exception(failure)
            if not begun.done():
                begun.set_exception(failure)

    Thread(target=run, name="episode", daemon=True).start()
    first, seat = begun.result()
    return Played(is_interrupted=_seated(first, seat, sit), episode=ended.result())


def _seated(begun: Begun, seat: Seat, sit: Sit) -> bool:
    """Let the person play; return whether by Ctrl-C it was left."""
    from companyos.runner.episode import HouseFailed

    failure: HouseFailed | None = None
    try:
        sit(begun, seat)
    except KeyboardInterrupt:
        return True
    except HouseFailed as broken:
        failure = broken
    finally:
        seat.leave(failure)
    return False


async def _episode(server: Server, plan: EpisodePlan, folder: Path, begun: Future[tuple[Begun, Seat]]) -> PlayedEpisode:
    from companyos.runner import RunFolder, play_episode
    from companyos.runner.batch import with_evidence

    run = RunFolder(folder, [plan])
    async with server.env() as env, server.trainer() as trainer:
        played = await _with_every_step(trainer, await play_episode(env, plan, Seat(env, begun)))
        played, evidence = await with_evidence(trainer, played)
    run.add(played, evidence)
    return played


async def _with_every_step(trainer: Trainer, played: PlayedEpisode) -> PlayedEpisode:
    """Return the episode with the steps that were taken at its desk, between those of the terminal."""
    from companyos.runner.episode import StepLine

    if played.episode_id is None or len(played.steps) == played.record.steps:
        return played
    own = {line.step for line in played.steps}
    others = [
        StepLine(
            step=told["number"],
            tool=told["tool"],
            arguments=told["arguments"],
            result=told["result"],
            error=told["error"],
            reward=told["reward"],
            done=told["done"],
            now=told["now"],
        )
        for told in await trainer.steps(played.episode_id)
        if told["number"] not in own
    ]
    return replace(played, steps=tuple(sorted((*played.steps, *others), key=lambda line: line.step)))
