"""Long-lived HTTP/1.1 connections over a Unix socket.

They use uvicorn's parser, because aiohttp takes two and a half times as long for a request (ADR 0022). The other side
is a service on this machine, served by uvicorn: a response has a length or is chunked, and neither redirects nor
cookies occur.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from companyos_gateway.engine.service_connections import KEEPALIVE_S, MAX_CONNECTIONS, HttpResponse

_FIRST_FINAL_STATUS = 200


class UnixConnections:
    """Connections to the Unix socket at a path."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: list[_Connection] = []
        """Connections without a request, the last used one last; the service may have closed some."""
        self._is_closed = False

    async def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Send a request and return the response; raises OSError for errors of the connection."""
        request = _encode_request(method, target, headers, body)
        async with self._slots:
            connection = self._take_idle() or await self._connect()
            try:
                return await connection.exchange(request)
            finally:
                if connection.is_reusable and not self._is_closed:
                    self._idle.append(connection)
                else:
                    connection.close()

    async def aclose(self) -> None:
        """Close the connections; those in use are closed after their response."""
        self._is_closed = True
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
        """Connect; the kernel accepts or refuses at once."""
        _, connection = await asyncio.get_running_loop().create_unix_connection(_Connection, self._path)
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
        except (HttpParserError, HttpParserUpgrade) as error:
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
            is_sent = self._transport is not None and self._transport.get_write_buffer_size() == 0
            self.is_reusable = is_sent and self._parser.should_keep_alive()
            self._response.set_result(HttpResponse(status, self._headers, b"".join(self._body)))

    def _fail(self, error: OSError) -> None:
        """Make the connection unusable; a request that waits for a response fails."""
        self.is_reusable = False
        if self._response is not None and not self._response.done():
            self._response.set_exception(error)


def _encode_request(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: service", *(f"{name}: {value}" for name, value in headers.items())]
    if body or method != "GET":
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines)
    if head.count("\r") != len(lines) - 1 or head.count("\n") != len(lines) - 1:
        raise ValueError("A header contains a line break.")
    return head.encode() + b"\r\n\r\n" + body
