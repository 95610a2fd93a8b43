"""Long-lived connections to a service at a URL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import aiohttp
from yarl import URL

from companyos_gateway.engine.service_connections import KEEPALIVE_S, MAX_CONNECTIONS, HttpResponse

_CONNECT_DEADLINE_S = 0.5
_MAX_CACHED_URL_LENGTH = 128
_MAX_CACHED_URLS = 4096
_AUTOMATIC_HEADERS = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")


class UrlConnections:
    """Connections to a URL. Certificates are not verified, because calls are signed."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._session: aiohttp.ClientSession | None = None

    async def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request and return the response; raises OSError or TimeoutError for errors of the connection."""
        session = self._session = self._session or self._open_session()
        url = self._address + target
        try:
            response = await session.request(
                method,
                _parse_url(url) if len(target) <= _MAX_CACHED_URL_LENGTH else URL(url, encoded=True),
                headers=headers,
                data=body or None,
                allow_redirects=False,
            )
            content = await response.read()  # releases or closes the connection; `async with` would do so again
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error)) from error
        return HttpResponse(response.status, response.headers, content)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S, ssl=False),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_AUTOMATIC_HEADERS,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_DEADLINE_S),
        )


@lru_cache(_MAX_CACHED_URLS)
def _parse_url(url: str) -> URL:
    return URL(url, encoded=True)
