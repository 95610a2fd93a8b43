"""One window: a context of the browser with one page in it, which only ever shows the apps of one episode."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Error as PlaywrightError

from companyos.contract import ScreenElement, Screenshot, Viewport
from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.server.screens.acting import Arguments, Hand, check_arguments
from companyos_gateway.server.screens.addresses import Premises
from companyos_gateway.server.screens.errors import WindowFailed
from companyos_gateway.server.screens.requests import Ask, Requests

ACTION_DEADLINE_S = 20.0
PICTURE_DEADLINE_S = 10.0
CLOSE_DEADLINE_S = 3.0
MOST_PAGES_A_WAY = 20
"""Pages that one action leads through at most."""

SHORTEST_PICTURE, TALLEST_PICTURE = 600, 8_000
"""Pixels of a picture that is no window's."""

_SETTLED: Final = """() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(
  () => requestAnimationFrame(() => setTimeout(() => done(document.readyState === "complete"), 0)))))"""
_TALL: Final = "() => document.documentElement.scrollHeight"
_ASIDE: Final = (-10, -10)
"""Where the pointer rests between two actions: over nothing."""

_PICTURE: Final[dict[str, Any]] = {"type": "png", "animations": "disabled", "caret": "hide", "scale": "css"}
_CONTEXT: Final[dict[str, Any]] = {
    "accept_downloads": False,
    "color_scheme": "light",
    "device_scale_factor": 1,
    "locale": "en-US",
    "reduced_motion": "reduce",
    "service_workers": "block",
    "timezone_id": "UTC",
}


class Window:
    """One window. Once a method has raised WindowFailed it is good for nothing but to be closed."""

    def __init__(self, context: Any, page: Any, requests: Requests, premises: Premises, viewport: Viewport) -> None:
        self._context = context
        self._page = page
        self._requests = requests
        self._premises = premises
        self._viewport = viewport
        self._hand = Hand(page, viewport, premises)

    @classmethod
    async def open(cls, browser: Any, premises: Premises, viewport: Viewport, ask: Ask) -> Window:
        """Open a window that shows nothing yet; raises WindowFailed."""
        async with _failing(ACTION_DEADLINE_S):
            context = await browser.new_context(**_CONTEXT, viewport=viewport.model_dump())
        try:
            async with _failing(ACTION_DEADLINE_S):
                page = await context.new_page()
                context.on("page", _close_other)
                requests = Requests(await context.new_cdp_session(page), premises, ask)
                await requests.watch()
        except BaseException:
            await _close(context)
            raise
        return cls(context, page, requests, premises, viewport)

    @property
    def address(self) -> str:
        """Where the window is, below the apps."""
        return self._premises.address_of(self._page.url)

    @property
    def taken(self) -> Sequence[StepObservation]:
        """The steps that the last action was."""
        return self._requests.taken

    @property
    def house_failed(self) -> bool:
        """Whether the last action led to a page that could not be had, by no fault but the house's."""
        return self._requests.house_failed

    async def act(self, tool: str, arguments: Arguments) -> None:
        """Carry an action out, until what it led to is there; raises ArgumentsMisfit, Refused or WindowFailed."""
        self._requests.begin()
        check_arguments(tool, arguments)
        try:
            async with _failing(ACTION_DEADLINE_S):
                await self._hand.act(tool, arguments)
                await self._settle()
        finally:
            await self._requests.finished()

    async def show(self, address: str) -> None:
        """Go to an address that the window was at once; raises WindowFailed."""
        async with _failing(ACTION_DEADLINE_S):
            await self._page.goto(self._premises.url_of(address))
            await self._settle()

    async def picture(self, looks_left: int) -> Screenshot:
        """Return what the window shows; raises WindowFailed."""
        async with _failing(PICTURE_DEADLINE_S):
            png = await self._page.screenshot(**_PICTURE)
            snapshot = await self._page.locator("body").aria_snapshot()
            seen = await self._page.evaluate(_elements())
        return Screenshot(
            png=base64.b64encode(png).decode(),
            viewport=self._viewport,
            address=self.address,
            title=seen["title"],
            snapshot=self._premises.told(snapshot),
            elements=tuple(ScreenElement(**one) for one in seen["elements"]),
            scroll_y=seen["scroll_y"],
            page_height=seen["page_height"],
            looks_left=looks_left,
        )

    async def close(self) -> None:
        """Close the window, be it alive or not."""
        await _close(self._context)

    async def _settle(self) -> None:
        """Wait until the window is on its way nowhere and has drawn what it shows, the pointer over none of it."""
        await self._page.mouse.move(*_ASIDE)
        for _ in range(MOST_PAGES_A_WAY):
            await self._requests.quiet()
            try:
                is_complete = await self._page.evaluate(_SETTLED)
            except PlaywrightError:
                if self._page.is_closed():
                    raise
                await asyncio.sleep(0)  # it is on its way to another page
                await self._page.wait_for_load_state("load")
                continue
            if is_complete and self._requests.is_quiet:
                return
            await self._page.wait_for_load_state("load")
        raise TimeoutError


async def picture_of(browser: Any, html: str, width: int) -> bytes:
    """Return a page that needs nothing but itself as a picture, whole unless it is very long; raises WindowFailed."""
    async with _failing(PICTURE_DEADLINE_S):
        size = {"width": width, "height": SHORTEST_PICTURE}
        context = await browser.new_context(**_CONTEXT, java_script_enabled=False, viewport=size)
        try:
            page = await context.new_page()
            await page.set_content(html)
            height = min(max(await page.evaluate(_TALL), SHORTEST_PICTURE), TALLEST_PICTURE)
            await page.set_viewport_size({"width": width, "height": height})
            return bytes(await page.screenshot(**_PICTURE))
        finally:
            await context.close()


@asynccontextmanager
async def _failing(deadline_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(deadline_s):
            yield
    except PlaywrightError as error:
        raise WindowFailed(str(error).strip().partition("\n")[0]) from error
    except TimeoutError as late:
        raise WindowFailed(f"It did not answer within {deadline_s:g} s") from late


async def _close(context: Any) -> None:
    with suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(CLOSE_DEADLINE_S):
            await context.close()


async def _close_other(page: Any) -> None:
    """Close a second page at once: an episode has one window."""
    with suppress(PlaywrightError):
        await page.close()


@cache
def _elements() -> str:
    return Path(__file__).with_name("elements.js").read_text(encoding="utf-8")
