"""The Chromium process of a gateway, started on first use and restarted after a crash."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from companyos.contract import Viewport
from companyos_gateway.browser.app_urls import AppUrls
from companyos_gateway.browser.asgi_client import AsgiClient
from companyos_gateway.browser.chromium_path import find_chromium
from companyos_gateway.browser.window import Window, screenshot_html
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import BrowserMissingError, BrowserUnavailableError

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 3.0

FLAGS: Final = (
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-lcd-text",
    "--disable-partial-raster",
    "--disable-quic",
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-pings",
)
"""Flags for reproducible screenshots and for a browser without network access."""

UNREACHABLE_PROXY: Final = {"server": "http://127.0.0.1:9", "bypass": "<-loopback>"}
"""An unused port: requests that the gateway does not answer cannot reach any host, including localhost."""

_INHERITED_VARIABLES = ("PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
"""Environment variables that the browser inherits. The others may contain secrets."""

_log = logging.getLogger(__name__)


class Chromium:
    """A Chromium process. Without `path`, it uses the one of Playwright or one on the PATH."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._driver: Any = None
        self._browser: Any = None
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self._lifecycle_lock = asyncio.Lock()
        self.starts = 0

    async def browser(self) -> Any:
        """Return the running Playwright browser; raises BrowserMissingError (409) or BrowserUnavailableError (503)."""
        async with self._lifecycle_lock:
            if self._browser is None or not self._browser.is_connected():
                await self._stop()
                await self._start()
            return self._browser

    async def aclose(self) -> None:
        """Stop the process if it runs."""
        async with self._lifecycle_lock:
            await self._stop()

    async def _start(self) -> None:
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                self._driver = await async_playwright().start()
                binary = find_chromium(self._path, Path(self._driver.chromium.executable_path))
                self._home = tempfile.TemporaryDirectory(prefix="companyos-browser-", ignore_cleanup_errors=True)
                self._browser = await self._driver.chromium.launch(
                    executable_path=str(binary),
                    args=list(FLAGS),
                    env=_environment(self._home.name),
                    proxy=UNREACHABLE_PROXY,
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
        except (PlaywrightError, TimeoutError, OSError) as error:
            await self._stop()
            reason = str(error).strip().partition("\n")[0] or f"timeout after {START_TIMEOUT_S:g} s"
            raise BrowserUnavailableError(f"Chromium did not start: {reason}") from error
        except BrowserMissingError:
            await self._stop()
            raise
        self.starts += 1
        _log.info("started Chromium %s, start %d", self._browser.version, self.starts)

    async def _stop(self) -> None:
        browser, driver, home = self._browser, self._driver, self._home
        self._browser = self._driver = self._home = None
        for stop in (browser and browser.close, driver and driver.stop):
            if stop is not None:
                with suppress(Exception):
                    async with asyncio.timeout(STOP_TIMEOUT_S):
                        await stop()
        if home is not None:
            home.cleanup()


def _environment(home: str) -> dict[str, str | float | bool]:
    inherited: dict[str, str | float | bool] = {
        name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ
    }
    return {**inherited, "HOME": home, "LANG": "C.UTF-8", "TZ": "UTC"}


RENDER_WIDTH = 1280
_MAX_CONCURRENT_RENDERS = 2


class PlaywrightBackend:
    """Opens windows and renders HTML in Chromium."""

    def __init__(self, chromium: Path | None, asgi_client: AsgiClient) -> None:
        self.chromium = Chromium(chromium)
        self._asgi_client = asgi_client
        self._render_slots = asyncio.Semaphore(_MAX_CONCURRENT_RENDERS)

    async def open(self, episode: Episode, address: str) -> Window:
        """Open a window at an address; raises BrowserMissingError, BrowserUnavailableError or WindowError."""
        browser = await self.chromium.browser()
        viewport = episode.options.viewport or Viewport()
        window = await Window.open(browser, AppUrls(episode.id), viewport, partial(self._asgi_client.fetch, episode))
        try:
            await window.show(address)
        except BaseException:
            await window.close()
            raise
        return window

    async def screenshot_html(self, html: str) -> bytes:
        """Return a self-contained page as PNG; raises like `open`."""
        async with self._render_slots:
            return await screenshot_html(await self.chromium.browser(), html, RENDER_WIDTH)
