"""Interception of a window's requests: pages of its episode are served in process, all others are blocked."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from companyos_gateway.browser.app_urls import AppUrls
from companyos_gateway.browser.asgi_client import AppResponse
from companyos_gateway.engine.concurrency import start_task
from companyos_gateway.engine.observations import StepObservation

Fetch = Callable[[str, str, bytes], Awaitable[AppResponse]]
"""Sends a request with method, target and body."""

_NO_CONTENT: Final = 204
"""Status for blocked requests: the window keeps its page."""

_SERVER_ERROR: Final = 500
_DOCUMENT: Final = "Document"
_log = logging.getLogger(__name__)


class RequestInterceptor:
    """Answers all requests of a window. Each action may submit one form."""

    def __init__(self, cdp: Any, app_urls: AppUrls, fetch: Fetch) -> None:
        self._cdp = cdp
        self._app_urls = app_urls
        self._fetch = fetch
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._can_post = False
        self._document_url = ""
        self.steps: list[StepObservation] = []
        """The steps of the current action."""
        self.server_failed = False
        """Whether a page failed with a server error during the current action."""

    async def start(self) -> None:
        """Start intercepting requests."""
        self._cdp.on("Fetch.requestPaused", self._on_request)
        self._cdp.on("Page.frameRequestedNavigation", self._on_navigation_requested)
        self._cdp.on("Page.frameNavigated", self._on_navigated)
        self._cdp.on("Page.frameStoppedLoading", lambda _event: self._idle.set())
        await self._cdp.send("Page.enable")
        await self._cdp.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def begin(self) -> None:
        """Begin an action, which may submit one form."""
        self._can_post, self.server_failed, self.steps = True, False, []

    @property
    def is_idle(self) -> bool:
        """Return whether no navigation is in progress."""
        return self._idle.is_set()

    async def wait_until_idle(self) -> None:
        """Wait until no navigation is in progress."""
        await self._idle.wait()

    async def wait_for_responses(self) -> None:
        """Wait until all requests are answered."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_navigation_requested(self, event: dict[str, Any]) -> None:
        page, fragment, _ = event["url"].partition("#")
        if not (fragment and page == self._document_url):  # a fragment of the same page causes no load
            self._idle.clear()

    def _on_navigated(self, event: dict[str, Any]) -> None:
        self._document_url = event["frame"]["url"].partition("#")[0]

    def _on_request(self, paused: dict[str, Any]) -> None:
        start_task(self._tasks, self._fulfill(paused))

    async def _fulfill(self, paused: dict[str, Any]) -> None:
        page = await self._respond(paused)
        params = {
            "requestId": paused["requestId"],
            "responseCode": page.status,
            "responseHeaders": [{"name": name, "value": value} for name, value in page.headers],
            "body": base64.b64encode(page.body).decode(),
        }
        with suppress(PlaywrightError):  # the window may be closed already
            await self._cdp.send("Fetch.fulfillRequest", params)

    async def _respond(self, paused: dict[str, Any]) -> AppResponse:
        request, resource_type = paused["request"], paused.get("resourceType")
        method, url = request["method"], request["url"]
        if not self._is_allowed(method, url, is_document=resource_type == _DOCUMENT):
            _log.info("blocked a request of a window: %s %s", method, url[:200])
            return AppResponse(_NO_CONTENT, (), b"")
        if method == "POST":
            self._can_post = False
        parts = urlsplit(url)
        page = await self._fetch(
            method, parts._replace(scheme="", netloc="", fragment="").geturl(), _read_body(request)
        )
        self.steps += page.steps
        self.server_failed |= page.status >= _SERVER_ERROR and resource_type == _DOCUMENT
        return page

    def _is_allowed(self, method: str, url: str, *, is_document: bool) -> bool:
        if not is_document:
            return method == "GET" and self._app_urls.is_asset(url)
        return self._app_urls.contains(url) and (method == "GET" or (method == "POST" and self._can_post))


def _read_body(request: dict[str, Any]) -> bytes:
    entries = request.get("postDataEntries")
    if entries:
        return b"".join(base64.b64decode(entry.get("bytes", "")) for entry in entries)
    return str(request.get("postData", "")).encode()
