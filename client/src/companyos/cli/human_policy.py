"""Policy for a human player: the runner plays it like any policy while another thread decides its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from companyos.cli.connection import Server

if TYPE_CHECKING:
    from companyos.client import CompanyOSEnv
    from companyos.contract import CompanyOSState
    from companyos.policies import StepView, TaskView
    from companyos.policies.policy import Call
    from companyos.runner import EpisodePlan, PlayedEpisode
    from companyos.trainer import Trainer

PERSON = "person"
"""Name of the human policy in a run."""


HumanSession = Callable[["HumanPolicy"], None]
"""Function that plays the session; it raises KeyboardInterrupt if the player leaves."""


class HumanPolicy:
    """Policy whose steps come from another thread, so that the event loop is never blocked.

    `started` receives the policy when the episode has started; `task` and `initial_state` are set from then on.
    """

    name = PERSON
    task: TaskView
    initial_state: CompanyOSState

    def __init__(self, env: CompanyOSEnv, started: Future[HumanPolicy]) -> None:
        self._env = env
        self._started = started
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._call: Call | None = None

    async def play(self, task: TaskView, call: Call) -> None:
        """Wait until the player has left; raise the error that ended the session, if any."""
        self._call = call
        self.task, self.initial_state = task, await self._env.state()
        self._started.set_result(self)
        await self._finished

    def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        """Take a step from the player's thread. Raises the errors of the runner's call."""
        assert self._call is not None, "the episode has not started"
        return asyncio.run_coroutine_threadsafe(self._call(tool, arguments), self._loop).result()

    def state(self) -> CompanyOSState:
        """Return the current state, including steps taken in the browser. Raises EnvironmentFailureError."""
        from companyos.runner.episode import SERVER_FAILURES, EnvironmentFailureError

        try:
            return asyncio.run_coroutine_threadsafe(self._fetch_state(), self._loop).result()
        except SERVER_FAILURES as failure:
            raise EnvironmentFailureError(f"{type(failure).__name__}: {failure}") from failure

    def stop(self, failure: BaseException | None = None) -> None:
        """End the session from the player's thread; `failure` is the error that ended it."""
        self._loop.call_soon_threadsafe(self._resolve, failure)

    async def _fetch_state(self) -> CompanyOSState:
        state: CompanyOSState = await self._env.state()
        return state

    def _resolve(self, failure: BaseException | None) -> None:
        if self._finished.done():
            return
        if failure is None:
            self._finished.set_result(None)
        else:
            self._finished.set_exception(failure)


def play_as_human(
    server: Server, plan: EpisodePlan, folder: Path, run_session: HumanSession
) -> tuple[PlayedEpisode, bool]:
    """Play and store an episode of a human player; return it, and whether the player left it with Ctrl-C.

    The session runs in this thread, the episode in another. Raises the errors of `play_all` up to the start of the
    episode.
    """
    started: Future[HumanPolicy] = Future()
    ended: Future[PlayedEpisode] = Future()

    def run() -> None:
        try:
            ended.set_result(asyncio.run(_play_episode(server, plan, folder, started)))
        except BaseException as failure:  # noqa: BLE001  # it is raised in the thread of the session
            ended.set_exception(failure)
            if not started.done():
                started.set_exception(failure)

    Thread(target=run, name="episode", daemon=True).start()
    is_interrupted = _run_session(started.result(), run_session)
    return ended.result(), is_interrupted


def _run_session(human: HumanPolicy, run_session: HumanSession) -> bool:
    """Run the player's session; return whether it was left with Ctrl-C."""
    from companyos.runner.episode import EnvironmentFailureError

    failure: EnvironmentFailureError | None = None
    try:
        run_session(human)
    except KeyboardInterrupt:
        return True
    except EnvironmentFailureError as error:
        failure = error
    finally:
        human.stop(failure)
    return False


async def _play_episode(server: Server, plan: EpisodePlan, folder: Path, started: Future[HumanPolicy]) -> PlayedEpisode:
    from companyos.runner import RunFolder, play_episode
    from companyos.runner.batch import attach_evidence

    is_new = not folder.exists()
    run = RunFolder(folder, [plan])
    try:
        async with server.env() as env, server.trainer() as trainer:
            played = await _merge_steps(trainer, await play_episode(env, plan, HumanPolicy(env, started)))
            played, evidence = await attach_evidence(trainer, played)
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()  # it is empty, as no episode was stored
        raise
    run.add(played, evidence)
    return played


async def _merge_steps(trainer: Trainer, played: PlayedEpisode) -> PlayedEpisode:
    """Return the episode with the steps taken in the browser inserted between those of the terminal."""
    from companyos.runner.episode import StepLine

    if played.episode_id is None or len(played.steps) == played.record.steps:
        return played
    own_steps = {line.step for line in played.steps}
    others = [
        StepLine(
            step=document_step["number"],
            tool=document_step["tool"],
            arguments=document_step["arguments"],
            result=document_step["result"],
            error=document_step["error"],
            reward=document_step["reward"],
            done=document_step["done"],
            now=document_step["now"],
        )
        for document_step in await trainer.steps(played.episode_id)
        if document_step["number"] not in own_steps
    ]
    return replace(played, steps=tuple(sorted((*played.steps, *others), key=lambda line: line.step)))
