"""A window: a browser context with one page, restricted to the apps of an episode."""

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
from companyos_gateway.browser.app_urls import AppUrls
from companyos_gateway.browser.errors import WindowError
from companyos_gateway.browser.page_actions import Arguments, PageActions, check_arguments
from companyos_gateway.browser.request_interceptor import Fetch, RequestInterceptor
from companyos_gateway.engine.observations import StepObservation

ACTION_TIMEOUT_S = 20.0
SCREENSHOT_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 3.0
MAX_NAVIGATIONS = 20
"""Maximum number of navigations per action."""

MIN_SCREENSHOT_HEIGHT, MAX_SCREENSHOT_HEIGHT = 600, 8_000
"""Height in pixels of rendered HTML pages."""

_IS_SETTLED_JS: Final = """() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(
  () => requestAnimationFrame(() => setTimeout(() => done(document.readyState === "complete"), 0)))))"""
_PAGE_HEIGHT_JS: Final = "() => document.documentElement.scrollHeight"
_POINTER_REST_POSITION: Final = (-10, -10)
"""Position of the pointer between actions, outside the page."""

REFUSED_CAPTURE: Final = "Unable to capture screenshot"
"""Error of Chromium at a few captures, which succeed when they are repeated."""

_SCREENSHOT_OPTIONS: Final[dict[str, Any]] = {"type": "png", "animations": "disabled", "caret": "hide", "scale": "css"}
_CONTEXT_OPTIONS: Final[dict[str, Any]] = {
    "accept_downloads": False,
    "color_scheme": "light",
    "device_scale_factor": 1,
    "locale": "en-US",
    "reduced_motion": "reduce",
    "service_workers": "block",
    "timezone_id": "UTC",
}


class Window:
    """A browser window. After a WindowError it can only be closed."""

    def __init__(
        self, context: Any, page: Any, interceptor: RequestInterceptor, app_urls: AppUrls, viewport: Viewport
    ) -> None:
        self._context = context
        self._page = page
        self._interceptor = interceptor
        self._app_urls = app_urls
        self._viewport = viewport
        self._actions = PageActions(page, viewport, app_urls)

    @classmethod
    async def open(cls, browser: Any, app_urls: AppUrls, viewport: Viewport, fetch: Fetch) -> Window:
        """Open an empty window; raises WindowError."""
        async with _raise_window_errors(ACTION_TIMEOUT_S):
            context = await browser.new_context(**_CONTEXT_OPTIONS, viewport=viewport.model_dump())
        try:
            async with _raise_window_errors(ACTION_TIMEOUT_S):
                page = await context.new_page()
                context.on("page", _close_popup)
                interceptor = RequestInterceptor(await context.new_cdp_session(page), app_urls, fetch)
                await interceptor.start()
        except BaseException:
            await _close(context)
            raise
        return cls(context, page, interceptor, app_urls, viewport)

    @property
    def address(self) -> str:
        """The address of the window below the apps."""
        return self._app_urls.to_address(self._page.url)

    @property
    def steps(self) -> Sequence[StepObservation]:
        """The steps that the last action took."""
        return self._interceptor.steps

    @property
    def server_failed(self) -> bool:
        """Return whether a page failed with a server error during the last action."""
        return self._interceptor.server_failed

    async def act(self, tool: str, arguments: Arguments) -> None:
        """Perform an action and wait until the page has loaded.

        Raises InvalidArgumentsError, ActionRejectedError or WindowError.
        """
        self._interceptor.begin()
        check_arguments(tool, arguments)
        try:
            async with _raise_window_errors(ACTION_TIMEOUT_S):
                await self._actions.act(tool, arguments)
                await self._settle()
        finally:
            await self._interceptor.wait_for_responses()

    async def show(self, address: str) -> None:
        """Open an address; raises WindowError."""
        async with _raise_window_errors(ACTION_TIMEOUT_S):
            await self._page.goto(self._app_urls.to_url(address))
            await self._settle()

    async def take_screenshot(self, free_actions_left: int) -> Screenshot:
        """Return a screenshot with the accessible elements; raises WindowError."""
        async with _raise_window_errors(SCREENSHOT_TIMEOUT_S):
            png = await capture(self._page)
            snapshot = await self._page.locator("body").aria_snapshot()
            page_data = await self._page.evaluate(_elements_js())
        return Screenshot(
            png=base64.b64encode(png).decode(),
            viewport=self._viewport,
            address=self.address,
            title=page_data["title"],
            snapshot=self._app_urls.strip_root(snapshot),
            elements=tuple(ScreenElement(**element) for element in page_data["elements"]),
            scroll_y=page_data["scroll_y"],
            page_height=page_data["page_height"],
            free_actions_left=free_actions_left,
        )

    async def close(self) -> None:
        """Close the window, even after a failure."""
        await _close(self._context)

    async def _settle(self) -> None:
        """Move the pointer away and wait until navigation and rendering are complete."""
        await self._page.mouse.move(*_POINTER_REST_POSITION)
        for _ in range(MAX_NAVIGATIONS):
            await self._interceptor.wait_until_idle()
            try:
                is_complete = await self._page.evaluate(_IS_SETTLED_JS)
            except PlaywrightError:
                if self._page.is_closed():
                    raise
                await asyncio.sleep(0)  # a navigation has begun
                await self._page.wait_for_load_state("load")
                continue
            if is_complete and self._interceptor.is_idle:
                return
            await self._page.wait_for_load_state("load")
        raise TimeoutError


async def screenshot_html(browser: Any, html: str, width: int) -> bytes:
    """Return a self-contained page as PNG, cut at the maximum height; raises WindowError."""
    async with _raise_window_errors(SCREENSHOT_TIMEOUT_S):
        size = {"width": width, "height": MIN_SCREENSHOT_HEIGHT}
        context = await browser.new_context(**_CONTEXT_OPTIONS, java_script_enabled=False, viewport=size)
        try:
            page = await context.new_page()
            await page.set_content(html)
            height = min(max(await page.evaluate(_PAGE_HEIGHT_JS), MIN_SCREENSHOT_HEIGHT), MAX_SCREENSHOT_HEIGHT)
            await page.set_viewport_size({"width": width, "height": height})
            return await capture(page)
        finally:
            await context.close()


async def capture(page: Any) -> bytes:
    """Return a screenshot of a page as PNG, at the second attempt if Chromium refuses the first."""
    try:
        return bytes(await page.screenshot(**_SCREENSHOT_OPTIONS))
    except PlaywrightError as error:
        if REFUSED_CAPTURE not in str(error):
            raise
        return bytes(await page.screenshot(**_SCREENSHOT_OPTIONS))


@asynccontextmanager
async def _raise_window_errors(timeout_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except PlaywrightError as error:
        raise WindowError(str(error).strip().partition("\n")[0]) from error
    except TimeoutError as error:
        raise WindowError(f"timeout after {timeout_s:g} s") from error


async def _close(context: Any) -> None:
    with suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await context.close()


async def _close_popup(page: Any) -> None:
    """Close a popup: an episode has one window."""
    with suppress(PlaywrightError):
        await page.close()


@cache
def _elements_js() -> str:
    return Path(__file__).with_name("elements.js").read_text(encoding="utf-8")
