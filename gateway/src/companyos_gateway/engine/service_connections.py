"""Long-lived connections to one service: an aiohttp client, or an httpx transport in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import aiohttp
import httpx
from yarl import URL

CONNECT_DEADLINE_S = 0.5
KEEPALIVE_S = 60.0
MAX_CONNECTIONS = 256

TRANSPORT_ERRORS = (httpx.TransportError, aiohttp.ClientError, OSError, TimeoutError)
"""Exceptions of `exchange` that are caused by the connection."""

_MAX_CACHED_URL_LENGTH = 128
_MAX_CACHED_URLS = 4096
_AUTOMATIC_HEADERS = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response that was received completely. Header names are case-insensitive."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """Return whether the status is 2xx."""
        return 200 <= self.status_code < 300

    @property
    def is_error(self) -> bool:
        """Return whether the status is 4xx or 5xx."""
        return self.status_code >= 400


class ServiceConnections:
    """Connections to `unix:path` or a URL. Certificates are not verified, because calls are signed."""

    def __init__(self, address: str) -> None:
        self._path = address.removeprefix("unix:") if address.startswith("unix:") else None
        self._base_url = "http://service" if self._path is not None else address
        self._session: aiohttp.ClientSession | None = None

    async def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request and return the response; raises one of TRANSPORT_ERRORS."""
        session = self._session = self._session or self._open_session()
        url = self._base_url + target
        response = await session.request(
            method,
            _parse_url(url) if len(target) <= _MAX_CACHED_URL_LENGTH else URL(url, encoded=True),
            headers=headers,
            data=body or None,
            allow_redirects=False,
        )
        content = await response.read()  # releases or closes the connection; `async with` would do so again
        return HttpResponse(response.status, response.headers, content)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        connector = (
            aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S, ssl=False)
            if self._path is None
            else aiohttp.UnixConnector(self._path, limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S)
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_AUTOMATIC_HEADERS,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_DEADLINE_S),
        )


class TransportConnections:
    """An httpx transport with the interface of ServiceConnections."""

    def __init__(self, address: str, transport: httpx.AsyncBaseTransport) -> None:
        self._address = address
        self._transport = transport

    async def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request and return the response; raises one of TRANSPORT_ERRORS."""
        request = httpx.Request(method, self._address + target, headers=headers, content=body)
        response = await self._transport.handle_async_request(request)
        return HttpResponse(response.status_code, response.headers, await response.aread())

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()


@lru_cache(_MAX_CACHED_URLS)
def _parse_url(url: str) -> URL:
    return URL(url, encoded=True)
