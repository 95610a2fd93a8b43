"""Long-lived connections to a service: over a Unix socket, to a URL, or through an httpx transport in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import httpx

KEEPALIVE_S = 60.0
MAX_CONNECTIONS = 256

TRANSPORT_ERRORS = (httpx.TransportError, OSError, TimeoutError)
"""Exceptions of `exchange` that are caused by the connection."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response that was received completely. Headers are looked up by their names in lower case."""

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


class ServiceConnections(Protocol):
    """Connections to one service."""

    async def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request and return the response; raises one of TRANSPORT_ERRORS."""

    async def aclose(self) -> None:
        """Close the connections."""


class TransportConnections:
    """An httpx transport with the interface of the connections."""

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
