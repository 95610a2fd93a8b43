"""Long-lived HTTP/1.1 connections to one service, or an httpx transport in tests.

They are built on the parser of uvicorn, because general clients take longer than all the rest of a call (ADR 0022).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import httpx
from httptools import HttpParserError, HttpResponseParser

CONNECT_DEADLINE_S = 0.5
KEEPALIVE_S = 60.0
MAX_CONNECTIONS = 256

TRANSPORT_ERRORS = (httpx.TransportError, OSError, TimeoutError)
"""Exceptions of `exchange` that are caused by the connection."""

_FIRST_FINAL_STATUS = 200


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response that was received completely. Header names are in lower case."""

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
        self._url = urlsplit(address)
        self._prefix = "" if self._path is not None else self._url.path.rstrip("/")
        self._host = "service" if self._path is not None else self._url.netloc.rpartition("@")[2]
        self._idle: list[_Connection] = []
        """Connections without a request, the last used one last; the service may have closed some."""
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request and return the response; raises one of TRANSPORT_ERRORS."""
        request = _encode_request(method, self._prefix + target, {"Host": self._host, **headers}, body)
        async with self._slots:
            connection = self._take_idle() or await self._connect()
            try:
                return await connection.exchange(request)
            finally:
                if connection.is_reusable:
                    self._idle.append(connection)
                else:
                    connection.close()

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()
        await asyncio.sleep(0)  # a transport closes its socket in the next iteration

    def _take_idle(self) -> _Connection | None:
        oldest = asyncio.get_running_loop().time() - KEEPALIVE_S
        while self._idle:
            connection = self._idle.pop()
            if connection.is_reusable and connection.used_at > oldest:
                return connection
            connection.close()
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_DEADLINE_S):
            if self._path is not None:
                _, connection = await loop.create_unix_connection(_Connection, self._path)
            else:
                is_tls = self._url.scheme == "https"
                _, connection = await loop.create_connection(
                    _Connection,
                    self._url.hostname or "",
                    self._url.port or (443 if is_tls else 80),
                    ssl=_unverified_tls() if is_tls else None,
                )
        return connection


class _Connection(asyncio.Protocol):
    """One connection, for one request at a time. The parser calls the methods `on_...`."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[HttpResponse] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self.is_reusable = False
        """Whether a response was received completely and the connection stays open."""
        self.used_at = 0.0

    async def exchange(self, request: bytes) -> HttpResponse:
        """Send an encoded request and return the response; raises ConnectionError if there is none."""
        if self._transport is None:
            raise ConnectionResetError("The connection was closed.")
        loop = asyncio.get_running_loop()
        self.is_reusable = False
        self._response = loop.create_future()
        self._transport.write(request)
        try:
            return await self._response
        finally:
            self._response = None
            self.used_at = loop.time()

    def close(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request that waits for a response."""
        self._transport = None
        self._fail(exc if isinstance(exc, OSError) else ConnectionResetError("The connection was closed."))

    def data_received(self, data: bytes) -> None:
        """Parse received data."""
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(ConnectionError(f"The response is malformed: {error}"))

    def on_message_begin(self) -> None:
        """Start a response; one without a request makes the connection unusable."""
        if self._response is None or self._response.done():
            self._fail(ConnectionError("A response without a request was received."))
        self._headers, self._body = {}, []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        """Add a part of the body."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Complete the request with its final response."""
        status = self._parser.get_status_code()
        if status >= _FIRST_FINAL_STATUS and self._response is not None and not self._response.done():
            self.is_reusable = self._parser.should_keep_alive()
            self._response.set_result(HttpResponse(status, self._headers, b"".join(self._body)))

    def _fail(self, error: OSError) -> None:
        """Close the connection; a request that waits for a response fails."""
        self.is_reusable = False
        self.close()
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)


def _encode_request(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body or method != "GET":
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines)
    if head.count("\r") != len(lines) - 1 or head.count("\n") != len(lines) - 1:
        raise ValueError("A header contains a line break.")
    return head.encode() + b"\r\n\r\n" + body


def _unverified_tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


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
