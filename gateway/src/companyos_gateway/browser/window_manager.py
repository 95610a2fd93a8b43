"""Manages the browser windows of screenshot episodes.

A browser action that submits a form is a step. All other browser actions are free: they are not steps and cost
nothing, but their number is limited. Once it is used up, they count as steps.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from openenv.core.env_server.mcp_types import ToolError, ToolErrorType
from openenv.core.env_server.types import Observation

from companyos.contract import Modality, Screenshot
from companyos_gateway.browser.asgi_client import AppForEpisode, AsgiClient
from companyos_gateway.browser.browser_session import WindowSession
from companyos_gateway.browser.errors import BROWSER_RESTARTED, NO_PLAYWRIGHT, ActionRejectedError, WindowError
from companyos_gateway.engine.browser_tools import is_browser_tool
from companyos_gateway.engine.concurrency import start_task
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import (
    BrowserMissingError,
    BrowserUnavailableError,
    EpisodeClosedError,
    GatewayError,
    ServicesUnavailableError,
    WindowLimitError,
)
from companyos_gateway.engine.metrics import EngineMetrics
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.engine.progress import LastStep
from companyos_gateway.engine.toolbox import InvalidArgumentsError
from companyos_gateway.settings import Settings
from companyos_shared.wire.problem import ProblemBody

if TYPE_CHECKING:
    from companyos_gateway.browser.playwright_backend import PlaywrightBackend
    from companyos_gateway.browser.window import Window

IDLE_BEFORE_EVICTION_S = 60.0
"""Idle time in seconds after which a window may be evicted for another one."""

MAX_ATTEMPTS = 2
MAX_CONSECUTIVE_FAILURES = 3
"""Number of consecutive browser failures after which an action fails with status 503."""

_log = logging.getLogger(__name__)


class BrowserHost(Protocol):
    """The part of the gateway's runtime that windows need."""

    @property
    def settings(self) -> Settings: ...
    @property
    def metrics(self) -> EngineMetrics: ...
    def engine(self) -> EpisodeEngine: ...
    def run_in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...


class WindowManager:
    """The windows of a gateway. The first use imports Playwright and starts the browser."""

    def __init__(self, host: BrowserHost) -> None:
        self._host = host
        self._build_app: Callable[[], AppForEpisode] | None = None
        self._sessions: dict[str, WindowSession] = {}
        self._backend: PlaywrightBackend | None = None
        self._open_lock = asyncio.Lock()
        self._actions: set[asyncio.Task[StepObservation]] = set()

    def connect(self, build_app: Callable[[], AppForEpisode]) -> None:
        """Set the function that builds the app of the windows. Call this before the first window opens."""
        self._build_app = build_app

    @property
    def is_idle(self) -> bool:
        """Return whether no action is in progress, including actions whose client has disconnected."""
        return not self._actions

    @property
    def open_count(self) -> int:
        """Number of open windows."""
        return sum(session.window is not None for session in self._sessions.values())

    @property
    def starts(self) -> int:
        """Number of browser starts."""
        return 0 if self._backend is None else self._backend.chromium.starts

    async def check_ready(self, previous: Episode | None = None) -> None:
        """Check that a window can be opened, not counting the window of `previous`, which is replaced.

        Raises BrowserMissingError (409), WindowLimitError (429) or BrowserUnavailableError (503).
        """
        await self._get_backend().chromium.browser()
        async with self._open_lock:
            await self._evict_idle_window(None if previous is None else self._sessions.get(previous.internal_id))

    async def last_observation(self, episode: Episode) -> Observation:
        """Return the last observation of an episode with a new screenshot; raises like `step`."""
        session = self._session(episode)
        async with session.turn():
            screenshot = await self._take_screenshot(episode, session)
        return episode.last_observation().model_copy(update={"screenshot": screenshot})

    async def step(
        self, episode: Episode, tool: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Perform a browser action or call another tool, and return the observation with a screenshot.

        An action continues even if its client disconnects. Raises the errors of `EpisodeEngine.step`,
        BrowserMissingError (409), WindowLimitError (429) or BrowserUnavailableError (503). Failed actions
        do not count as free actions.
        """
        return await asyncio.shield(start_task(self._actions, self._act(episode, tool, arguments, number)))

    async def render_png(self, episode: Episode, html: str) -> bytes:
        """Return a PNG of the episode's window, or of the HTML page if the episode has no window.

        Raises BrowserMissingError (409), WindowLimitError (429) or BrowserUnavailableError (503).
        """
        if episode.options.modality is Modality.SCREENSHOT:
            session = self._session(episode)
            async with session.turn():
                return base64.b64decode((await self._take_screenshot(episode, session)).png)
        for _ in range(MAX_ATTEMPTS):
            try:
                return await self._get_backend().screenshot_html(html)
            except WindowError as failure:
                _log.warning("rendering a page failed: %s", failure)
        raise BrowserUnavailableError

    async def aclose(self) -> None:
        """Stop the browser with all windows."""
        self._sessions.clear()
        if self._backend is not None:
            await self._backend.chromium.aclose()

    async def _act(self, episode: Episode, tool: str, arguments: dict[str, Any], number: int | None) -> StepObservation:
        session = self._session(episode)
        async with session.turn():
            if is_browser_tool(episode.options, tool):
                if (submitted := session.find_repeat(episode, tool, arguments, number)) is not None:
                    return await self._with_screenshot(episode, session, submitted.observation)
                episode.check_can_step()
                if session.free_actions_left:
                    with self._host.metrics.measure_operation("free_action", episode):
                        return await self._perform_free_action(episode, session, tool, arguments)
            observation = await self._host.engine().step(episode, tool, arguments, number=number)
            return await self._with_screenshot(episode, session, observation)

    async def _perform_free_action(
        self, episode: Episode, session: WindowSession, tool: str, arguments: dict[str, Any]
    ) -> StepObservation:
        window = await self._window(episode, session)
        problem, error, failed = None, None, None
        try:
            await window.act(tool, arguments)
        except InvalidArgumentsError as invalid:
            error = ToolError(error_type=ToolErrorType.INVALID_ARGS, message=str(invalid))
        except ActionRejectedError as refused:
            problem = refused.body
        except WindowError as failure:
            problem, failed = BROWSER_RESTARTED, failure
        if window.steps:
            session.submitted = LastStep(tool, arguments, window.steps[-1])
            if failed is not None:
                await session.close_window()
            return await self._with_screenshot(episode, session, session.submitted.observation)
        if episode.closed:
            raise EpisodeClosedError
        if window.server_failed:
            await session.close_window()
            raise ServicesUnavailableError("A page failed with a server error.")
        if failed is None:
            session.free_actions_left -= 1
            session.failures = 0
        else:
            await self._discard_window(session, failed)
        episode.used_at = time.monotonic()
        screenshot = await self._take_screenshot(episode, session)
        return _free_action_observation(episode, tool, screenshot, problem, error)

    async def _with_screenshot(
        self, episode: Episode, session: WindowSession, observation: StepObservation
    ) -> StepObservation:
        """Return a step with a screenshot, or without one if taking it fails."""
        try:
            return observation.model_copy(update={"screenshot": await self._take_screenshot(episode, session)})
        except GatewayError as problem:
            _log.warning("no screenshot for episode %s, step %d: %s", episode.internal_id, observation.step, problem)
            return observation

    async def _take_screenshot(self, episode: Episode, session: WindowSession) -> Screenshot:
        for _ in range(MAX_ATTEMPTS):
            window = await self._window(episode, session)
            try:
                screenshot = await window.take_screenshot(session.free_actions_left)
            except WindowError as failure:
                await self._discard_window(session, failure)
                continue
            session.remember(screenshot.address)
            if session.epoch == episode.epoch:  # else the episode was restored in the meantime
                self._host.metrics.record_screenshot(episode, base64.b64decode(screenshot.png))
            if episode.done:
                await session.close_window()
            return screenshot
        raise BrowserUnavailableError

    async def _window(self, episode: Episode, session: WindowSession) -> Window:
        for _ in range(MAX_ATTEMPTS):
            if episode.closed:
                raise EpisodeClosedError
            if session.window is not None:
                return session.window
            async with self._open_lock:
                await self._evict_idle_window(session)
                try:
                    window = await self._get_backend().open(episode, session.address)
                except WindowError as failure:
                    await self._discard_window(session, failure)
                    continue
                if self._sessions.get(episode.internal_id) is not session:
                    await window.close()
                    raise EpisodeClosedError
                session.window = window
                return window
        raise BrowserUnavailableError

    async def _discard_window(self, session: WindowSession, failure: WindowError) -> None:
        """Close a failed window; raises BrowserUnavailableError (503) after repeated failures."""
        _log.warning("a window failed: %s", failure)
        session.failures += 1
        await session.close_window()
        if session.failures >= MAX_CONSECUTIVE_FAILURES:
            session.failures = 0
            raise BrowserUnavailableError(str(failure)) from failure

    async def _evict_idle_window(self, own: WindowSession | None) -> None:
        """Make room for the window of `own` by closing idle ones; raises WindowLimitError (429)."""
        others = [session for session in self._sessions.values() if session.window is not None and session is not own]
        idle_since = time.monotonic() - IDLE_BEFORE_EVICTION_S
        while len(others) >= self._host.settings.max_windows:
            idle = [session for session in others if not session.is_busy and session.used_at < idle_since]
            if not idle:
                raise WindowLimitError(f"At most {self._host.settings.max_windows} windows may be open.")
            oldest = min(idle, key=lambda session: session.used_at)
            others.remove(oldest)
            await oldest.close_window()

    def _session(self, episode: Episode) -> WindowSession:
        session = self._sessions.get(episode.internal_id)
        if session is None or session.epoch != episode.epoch:
            if session is None:
                episode.on_close.append(partial(self._forget, episode.internal_id))
            self._forget(episode.internal_id)
            session = self._sessions[episode.internal_id] = WindowSession.from_episode(episode)
        return session

    def _forget(self, internal_id: str) -> None:
        """Close the window of an episode that was closed, reset or restored."""
        session = self._sessions.pop(internal_id, None)
        if session is not None and session.window is not None:
            self._host.run_in_background(session.close_window())

    def _get_backend(self) -> PlaywrightBackend:
        if self._backend is None:
            try:
                from companyos_gateway.browser.playwright_backend import PlaywrightBackend
            except ModuleNotFoundError as missing:
                if missing.name is None or missing.name.partition(".")[0] != "playwright":
                    raise
                raise BrowserMissingError(NO_PLAYWRIGHT) from missing
            if self._build_app is None:
                raise RuntimeError("WindowManager.connect was not called")
            self._backend = PlaywrightBackend(self._host.settings.chromium, AsgiClient(self._build_app()))
        return self._backend


def _free_action_observation(
    episode: Episode, tool: str, screenshot: Screenshot, problem: ProblemBody | None, error: ToolError | None
) -> StepObservation:
    """Return the observation of a free action."""
    return StepObservation(
        tool_name=tool,
        result=None if problem is None else problem.model_dump(mode="json", exclude_none=True),
        error=error,
        done=False,
        reward=0.0,
        now=episode.now,
        steps_left=episode.steps_left,
        screenshot=screenshot,
        step=episode.step,
        is_carried_out=problem is None and error is None,
    )
