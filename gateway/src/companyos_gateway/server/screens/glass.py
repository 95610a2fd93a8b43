"""Everything that needs Playwright: importing this is what tells whether it is there."""

from __future__ import annotations

import asyncio
from functools import partial

from companyos.contract import Viewport
from companyos_gateway.episode.episode import Episode
from companyos_gateway.server.house import House
from companyos_gateway.server.screens.addresses import Premises
from companyos_gateway.server.screens.chromium import Chromium
from companyos_gateway.server.screens.inside import Inside
from companyos_gateway.server.screens.window import Window, picture_of

RENDERED_WIDTH = 1280
_RENDERED_AT_ONCE = 2


class Glass:
    """The browser, and the apps behind it."""

    def __init__(self, house: House) -> None:
        self.chromium = Chromium(house.settings.chromium)
        self._inside = Inside(house)
        self._rendering = asyncio.Semaphore(_RENDERED_AT_ONCE)

    async def open(self, episode: Episode, address: str) -> Window:
        """Open an episode's window at an address; raises BrowserMissing, BrowserDown or WindowFailed."""
        browser = await self.chromium.browser()
        viewport = episode.options.viewport or Viewport()
        window = await Window.open(browser, Premises(episode.id), viewport, partial(self._inside.ask, episode))
        try:
            await window.show(address)
        except BaseException:
            await window.close()
            raise
        return window

    async def picture_of(self, html: str) -> bytes:
        """Return a page that needs nothing but itself as a picture; raises as `open` does."""
        async with self._rendering:
            return await picture_of(await self.chromium.browser(), html, RENDERED_WIDTH)
