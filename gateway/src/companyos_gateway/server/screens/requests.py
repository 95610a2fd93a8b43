"""What a window asks for: pages of its own episode, from inside the process, and nothing from anywhere else."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.server.screens.addresses import Premises
from companyos_gateway.server.screens.inside import Page

Ask = Callable[[str, str, bytes], Awaitable[Page]]
"""Method, target and body of a request, to its answer."""

_NOTHING: Final = 204
"""The answer to a navigation that leads nowhere: the window stays where it is."""

_HOUSE_FAILED: Final = 500
_DOCUMENT: Final = "Document"
_log = logging.getLogger(__name__)


class Requests:
    """Every request of one window, answered here. A window that is asked for by an action may send one form."""

    def __init__(self, cdp: Any, premises: Premises, ask: Ask) -> None:
        self._cdp = cdp
        self._premises = premises
        self._ask = ask
        self._answering: set[asyncio.Task[None]] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._may_post = False
        self._at = ""
        self.taken: list[StepObservation] = []
        """The steps of the action that is being carried out."""
        self.house_failed = False
        """Whether a page could not be had, which is nobody's fault but the house's."""

    async def watch(self) -> None:
        """Answer whatever is asked from here on."""
        self._cdp.on("Fetch.requestPaused", self._on_request)
        self._cdp.on("Page.frameRequestedNavigation", self._on_leaving)
        self._cdp.on("Page.frameNavigated", self._on_arrival)
        self._cdp.on("Page.frameStoppedLoading", lambda _told: self._quiet.set())
        await self._cdp.send("Page.enable")
        await self._cdp.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def begin(self) -> None:
        """Let the next action send its form."""
        self._may_post, self.house_failed, self.taken = True, False, []

    @property
    def is_quiet(self) -> bool:
        """Whether the window is on its way nowhere."""
        return self._quiet.is_set()

    async def quiet(self) -> None:
        """Wait until the window is on its way nowhere."""
        await self._quiet.wait()

    async def finished(self) -> None:
        """Wait until everything that was asked is answered, whoever still listens."""
        await asyncio.gather(*self._answering, return_exceptions=True)

    def _on_leaving(self, told: dict[str, Any]) -> None:
        page, place, _ = told["url"].partition("#")
        if not (place and page == self._at):  # a place on the same page is no other page
            self._quiet.clear()

    def _on_arrival(self, told: dict[str, Any]) -> None:
        self._at = told["frame"]["url"].partition("#")[0]

    def _on_request(self, paused: dict[str, Any]) -> None:
        answering = asyncio.get_running_loop().create_task(self._answer(paused))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)

    async def _answer(self, paused: dict[str, Any]) -> None:
        page = await self._page(paused)
        answer = {
            "requestId": paused["requestId"],
            "responseCode": page.status,
            "responseHeaders": [{"name": name, "value": value} for name, value in page.headers],
            "body": base64.b64encode(page.body).decode(),
        }
        with suppress(PlaywrightError):  # a window that is gone asks no more
            await self._cdp.send("Fetch.fulfillRequest", answer)

    async def _page(self, paused: dict[str, Any]) -> Page:
        asked, kind = paused["request"], paused.get("resourceType")
        method, url = asked["method"], asked["url"]
        if not self._is_allowed(method, url, is_document=kind == _DOCUMENT):
            _log.info("a window was refused %s %s", method, url[:200])
            return Page(_NOTHING, (), b"")
        if method == "POST":
            self._may_post = False
        parts = urlsplit(url)
        page = await self._ask(method, parts._replace(scheme="", netloc="", fragment="").geturl(), _body_of(asked))
        self.taken += page.taken
        self.house_failed |= page.status >= _HOUSE_FAILED and kind == _DOCUMENT
        return page

    def _is_allowed(self, method: str, url: str, *, is_document: bool) -> bool:
        if not is_document:
            return method == "GET" and self._premises.may_load(url)
        return self._premises.has(url) and (method == "GET" or (method == "POST" and self._may_post))


def _body_of(asked: dict[str, Any]) -> bytes:
    entries = asked.get("postDataEntries")
    if entries:
        return b"".join(base64.b64decode(entry.get("bytes", "")) for entry in entries)
    return str(asked.get("postData", "")).encode()
