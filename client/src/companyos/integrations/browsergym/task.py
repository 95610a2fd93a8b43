"""BrowserGym task that starts on an episode's app pages; rewards and the end come from the trainer API."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

import gymnasium
from browsergym.core.registration import register_task
from browsergym.core.task import AbstractBrowserTask
from playwright.sync_api import Page

from companyos.integrations.enterprise_connection import EnterpriseConnection
from companyos.integrations.page_episode import HttpTrainer, PageEpisode, seeded_options
from companyos.options import ResetArguments
from companyos.schemas import DEFAULT_HEIGHT, DEFAULT_WIDTH

PAGE_TIMEOUT_MS = 30_000
_NUMPY_SEEDS = 2**32


class CompanyOSTask(AbstractBrowserTask):
    """One episode on the server at `url`, or on a local one that is started once and stopped at the end of the process.

    `options` are those of a reset; the seed of BrowserGym's reset is the episode's seed. With a `split`, the seed
    modulo the number of tasks selects one of the split's tasks, filtered by `scenario` and `chaos` if given. The seed
    is not used with a `task_id`, an `index` or an `injected_state`.

    The goal is the brief. The reward of an action is the reward of its steps; opening a page has none. The episode ends
    with the action that closes the task, with the form on the start page, or with a message to the user, which is a
    `finish` with `done`; `report_infeasible` declares `impossible`. At the end, `info["task_info"]` contains the
    result. The browser receives the episode's token and can open only the episode's pages.

    Raises ApiError, ConnectionError, ValueError for a split without a matching task, and EnvironmentFailureError.
    """

    @classmethod
    def get_task_id(cls) -> str:
        """Return the id of the task without a scenario."""
        return "companyos"

    def __init__(self, seed: int | None, *, url: str | None = None, token: str | None = None, **options: Any) -> None:
        super().__init__(None if seed is None else seed % _NUMPY_SEEDS)
        self.viewport = {"width": DEFAULT_WIDTH, "height": DEFAULT_HEIGHT}
        self.slow_mo = 0
        self.timeout = PAGE_TIMEOUT_MS
        self._server = (url, token) if url is not None else local_server()
        self._seed = int(self.random.randint(_NUMPY_SEEDS, dtype="uint32")) if seed is None else seed
        self._options = cast(ResetArguments, options)
        self._trainer: HttpTrainer | None = None
        self._episode: PageEpisode | None = None

    def setup(self, page: Page) -> tuple[str, dict[str, Any]]:
        """Start the episode and open its start page. The goal is the brief."""
        self._trainer = HttpTrainer(*self._server)
        episode = self._episode = PageEpisode(self._trainer, seeded_options(self._trainer, self._options, self._seed))
        page.context.route(episode.foreign_addresses, lambda route: route.abort())
        page.context.add_init_script("delete window.WebSocket")  # routes do not intercept WebSockets
        response = page.goto(episode.start_url)
        if response is None or not response.ok:
            raise ConnectionError(f"the pages of {self._server[0]} do not open: {response and response.status_text}")
        return episode.brief, {"episode_id": episode.id}

    def validate(
        self, page: Page, chat_messages: Sequence[Mapping[str, Any]]
    ) -> tuple[float, bool, str, dict[str, Any]]:
        """Return the reward since the last call and whether the episode has ended; `page` is not used."""
        assert self._episode is not None, "setup was not called"
        reward, state = self._episode.advance(chat_messages)
        if not state.done or state.outcome is None:
            return reward, False, "", {"steps": state.step_count}
        result = {"outcome": state.outcome.value, "success": bool(state.success), "return": state.return_}
        return reward, True, "", {**result, "steps": state.step_count}

    def teardown(self) -> None:
        """End the episode; a live episode counts as failed."""
        if self._episode is not None:
            self._episode.close()
        if self._trainer is not None:
            self._trainer.close()
        self._episode = self._trainer = None


@cache
def local_server() -> tuple[str, str]:
    """Return URL and token of the local server. It has a token because pages of a server without one show rewards."""
    token = secrets.token_urlsafe()
    return EnterpriseConnection(settings={"COMPANYOS_TRAINER_TOKEN": token}).url, token


def register_scenarios(url: str | None = None, *, token: str | None = None) -> list[str]:
    """Register `browsergym/companyos.NAME` for every scenario of a server, by default the local one; return the ids.

    Each id accepts the arguments of CompanyOSTask except `scenario`; `url` and `token` default to those given here.
    Raises ApiError and ConnectionError.
    """
    trainer = HttpTrainer(*((url, token) if url is not None else local_server()))
    try:
        names = trainer.scenarios()
    finally:
        trainer.close()
    tasks = {f"{CompanyOSTask.get_task_id()}.{name}": name for name in names}
    for task_id, name in tasks.items():
        gymnasium.registry.pop(f"browsergym/{task_id}", None)
        register_task(task_id, CompanyOSTask, {"scenario": name}, default_task_kwargs={"url": url, "token": token})
    return [f"browsergym/{task_id}" for task_id in tasks]
