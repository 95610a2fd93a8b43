"""The windows of the episodes that are played by looking: who has one, what becomes of an action, what is shown.

An action of the browser that sends a form is the step of that form. Every other one is a look: it is no step, costs
nothing and is counted, and an agent that has no look left takes steps by it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from openenv.core.env_server.mcp_types import ToolError, ToolErrorType
from openenv.core.env_server.types import Observation

from companyos.contract import Modality, Screenshot
from companyos_gateway.episode.browser_tools import is_browser_tool
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import BrowserDown, EpisodeClosed, GatewayProblem, ServicesDown, WindowsFull
from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.episode.toolbox import ArgumentsMisfit
from companyos_gateway.server.screens.errors import BROWSER_RESTARTED, Refused, WindowFailed, extra_missing
from companyos_gateway.server.screens.sight import Sent, Sight
from companyos_shared.wire.problem import ProblemBody

if TYPE_CHECKING:
    from companyos_gateway.server.house import House
    from companyos_gateway.server.screens.glass import Glass
    from companyos_gateway.server.screens.window import Window

IDLE_BEFORE_EVICTION_S = 60.0
"""So long a window is left alone for which another one has no room."""

MOST_TRIES = 2
MOST_FAILURES = 3
"""So often in a row the browser may fail an agent before that is said to whoever runs it."""

_log = logging.getLogger(__name__)


class Screens:
    """Every window of one gateway. Nothing of a browser is imported or started before the first who needs one."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._sights: dict[str, Sight] = {}
        self._glass: Glass | None = None
        self._opening = asyncio.Lock()
        self._acting: set[asyncio.Task[StepObservation]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no action is being carried out, for whoever waits or for nobody."""
        return not self._acting

    @property
    def windows(self) -> int:
        """How many windows are open."""
        return sum(sight.window is not None for sight in self._sights.values())

    @property
    def starts(self) -> int:
        """How often the browser was started."""
        return 0 if self._glass is None else self._glass.chromium.starts

    async def check_ready(self, previous: Episode | None = None) -> None:
        """Raise BrowserMissing (409), WindowsFull (429) or BrowserDown (503) where no window can be opened.

        The window of `previous`, whose place is to be taken, counts for none.
        """
        await self._looking_glass().chromium.browser()
        async with self._opening:
            await self._make_room(None if previous is None else self._sights.get(previous.internal_id))

    async def told(self, episode: Episode) -> Observation:
        """Return the last observation that an episode answered, with its window as it is now; raises as `step` does."""
        sight = self._sight(episode)
        async with sight.turn():
            shot = await self._picture(episode, sight)
        return episode.told_last().model_copy(update={"screenshot": shot})

    async def step(
        self, episode: Episode, tool: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Carry out an action, of the browser or any other, and return what came of it with the window behind it.

        An action that has begun is carried out to its end, whoever stops waiting for it. Raises what `Stage.step`
        raises, BrowserMissing (409), WindowsFull (429) or BrowserDown (503); then no look was taken.
        """
        acting = asyncio.get_running_loop().create_task(self._act(episode, tool, arguments, number))
        self._acting.add(acting)
        acting.add_done_callback(self._acting.discard)
        return await asyncio.shield(acting)

    async def rendered(self, episode: Episode, html: str) -> bytes:
        """Return the picture of an episode: its window where it has one, else the page that tells of it.

        Raises BrowserMissing (409), WindowsFull (429) or BrowserDown (503).
        """
        if episode.options.modality is Modality.SCREENSHOT:
            sight = self._sight(episode)
            async with sight.turn():
                return base64.b64decode((await self._picture(episode, sight)).png)
        for _ in range(MOST_TRIES):
            try:
                return await self._looking_glass().picture_of(html)
            except WindowFailed as failure:
                _log.warning("a picture failed: %s", failure)
        raise BrowserDown

    async def aclose(self) -> None:
        """Close every window, and the browser."""
        self._sights.clear()
        if self._glass is not None:
            await self._glass.chromium.aclose()

    async def _act(self, episode: Episode, tool: str, arguments: dict[str, Any], number: int | None) -> StepObservation:
        sight = self._sight(episode)
        async with sight.turn():
            if is_browser_tool(episode.options, tool):
                if (sent := sight.repeated(episode, tool, arguments, number)) is not None:
                    return await self._with_picture(episode, sight, sent.observation)
                episode.check_may_step()
                if sight.looks_left:
                    with self._house.watch.act("look", episode):
                        return await self._look(episode, sight, tool, arguments)
            taken = await self._house.stage().step(episode, tool, arguments, number=number)
            return await self._with_picture(episode, sight, taken)

    async def _look(self, episode: Episode, sight: Sight, tool: str, arguments: dict[str, Any]) -> StepObservation:
        window = await self._window(episode, sight)
        problem, error, failed = None, None, None
        try:
            await window.act(tool, arguments)
        except ArgumentsMisfit as misfit:
            error = ToolError(error_type=ToolErrorType.INVALID_ARGS, message=str(misfit))
        except Refused as refused:
            problem = refused.body
        except WindowFailed as failure:
            problem, failed = BROWSER_RESTARTED, failure
        if window.taken:
            sight.sent = Sent(tool, arguments, window.taken[-1])
            if failed is not None:
                await sight.lose()
            return await self._with_picture(episode, sight, sight.sent.observation)
        if episode.closed:
            raise EpisodeClosed
        if window.house_failed:
            await sight.lose()
            raise ServicesDown("A page could not be had.")
        if failed is None:
            sight.looks_left -= 1
            sight.failures = 0
        else:
            await self._lose(sight, failed)
        episode.used_at = time.monotonic()
        shot = await self._picture(episode, sight)
        return _seen(episode, tool, shot, problem, error)

    async def _with_picture(self, episode: Episode, sight: Sight, taken: StepObservation) -> StepObservation:
        """Return a step with the window behind it; a step that was taken is told, picture or not."""
        try:
            return taken.model_copy(update={"screenshot": await self._picture(episode, sight)})
        except GatewayProblem as problem:
            _log.warning("episode %s, step %d has no picture: %s", episode.internal_id, taken.step, problem)
            return taken

    async def _picture(self, episode: Episode, sight: Sight) -> Screenshot:
        for _ in range(MOST_TRIES):
            window = await self._window(episode, sight)
            try:
                shot = await window.picture(sight.looks_left)
            except WindowFailed as failure:
                await self._lose(sight, failure)
                continue
            sight.remember(shot.address)
            if episode.done:
                await sight.lose()
            return shot
        raise BrowserDown

    async def _window(self, episode: Episode, sight: Sight) -> Window:
        for _ in range(MOST_TRIES):
            if episode.closed:
                raise EpisodeClosed
            if sight.window is not None:
                return sight.window
            async with self._opening:
                await self._make_room(sight)
                try:
                    window = await self._looking_glass().open(episode, sight.address)
                except WindowFailed as failure:
                    await self._lose(sight, failure)
                    continue
                if self._sights.get(episode.internal_id) is not sight:
                    await window.close()
                    raise EpisodeClosed
                sight.window = window
                return window
        raise BrowserDown

    async def _lose(self, sight: Sight, failure: WindowFailed) -> None:
        """Let a window go that failed; raises BrowserDown (503) where they fail again and again."""
        _log.warning("a window failed: %s", failure)
        sight.failures += 1
        await sight.lose()
        if sight.failures >= MOST_FAILURES:
            sight.failures = 0
            raise BrowserDown(str(failure)) from failure

    async def _make_room(self, own: Sight | None) -> None:
        """Make sure that `own` may have a window; the one that was idle for longest gives way. Raises WindowsFull."""
        others = [sight for sight in self._sights.values() if sight.window is not None and sight is not own]
        long_ago = time.monotonic() - IDLE_BEFORE_EVICTION_S
        while len(others) >= self._house.settings.max_windows:
            idle = [sight for sight in others if not sight.is_busy and sight.used_at < long_ago]
            if not idle:
                raise WindowsFull(f"{len(others)} windows are open.")
            longest = min(idle, key=lambda sight: sight.used_at)
            others.remove(longest)
            await longest.lose()

    def _sight(self, episode: Episode) -> Sight:
        known = self._sights.get(episode.internal_id)
        if known is None or known.epoch != episode.epoch:
            if known is None:
                episode.at_close.append(partial(self._forget, episode.internal_id))
            self._forget(episode.internal_id)
            known = self._sights[episode.internal_id] = Sight.of(episode)
        return known

    def _forget(self, internal_id: str) -> None:
        """Close the window of an episode that is gone, or stands somewhere else now."""
        sight = self._sights.pop(internal_id, None)
        if sight is not None and sight.window is not None:
            self._house.in_background(sight.lose())

    def _looking_glass(self) -> Glass:
        if self._glass is None:
            try:
                from companyos_gateway.server.screens.glass import Glass
            except ModuleNotFoundError as missing:
                if missing.name is None or missing.name.partition(".")[0] != "playwright":
                    raise
                raise extra_missing() from missing
            self._glass = Glass(self._house)
        return self._glass


def _seen(
    episode: Episode, tool: str, shot: Screenshot, problem: ProblemBody | None, error: ToolError | None
) -> StepObservation:
    """Return what a look answers, which no step is."""
    return StepObservation(
        tool_name=tool,
        result=None if problem is None else problem.model_dump(mode="json", exclude_none=True),
        error=error,
        done=False,
        reward=0.0,
        now=episode.now,
        steps_left=episode.steps_left,
        screenshot=shot,
        step=episode.step,
        is_carried_out=problem is None and error is None,
    )
