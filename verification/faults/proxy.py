"""A proxy between the gateway and one service that injects network faults."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from verification.faults.server_process import HOST

_EXEMPT_PATHS = ("/livez", "/readyz", "/openapi.json")
"""Service routes that are forwarded without faults."""

_END_OF_HEAD = b"\r\n\r\n"
STREAM_LIMIT = 64 * 1024 * 1024

_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Message:
    """A request or response: its head including the blank line, and its raw body."""

    head: bytes
    body: bytes

    @property
    def raw(self) -> bytes:
        """All bytes of the message."""
        return self.head + self.body

    @property
    def target(self) -> str:
        """The path of a request."""
        return self.head.split(b" ", 2)[1].decode("latin-1")


async def read_message(reader: asyncio.StreamReader) -> Message | None:
    """Return the next message, or None at the end of the stream; raises IncompleteReadError inside a message."""
    try:
        head = await reader.readuntil(_END_OF_HEAD)
    except asyncio.IncompleteReadError as ended:
        if ended.partial:
            raise
        return None
    fields = _fields(head)
    if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
        return Message(head, await _chunks(reader))
    return Message(head, await reader.readexactly(int(fields.get(b"content-length", b"0"))))


def _fields(head: bytes) -> dict[bytes, bytes]:
    lines = head.split(b"\r\n")[1:]
    pairs = (line.partition(b":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        chunk = await reader.readexactly(int(size.split(b";")[0], 16) + 2)
        body += size + chunk
        if chunk == b"\r\n":
            return body


@dataclass
class Exchange:
    """One intercepted request, which a fault can forward, modify or drop."""

    request: Message
    proxy: FaultProxy
    _client: asyncio.StreamWriter

    async def forward(self) -> Message:
        """Forward the request to the service and return its response; raises ConnectionError."""
        return await self.proxy.send_to_service(self.request)

    async def respond(self, data: bytes) -> None:
        """Send bytes to the gateway."""
        self._client.write(data)
        await self._client.drain()

    def reset(self) -> None:
        """Break the connection with a reset."""
        reset_connection(self._client.transport)


def reset_connection(transport: asyncio.WriteTransport) -> None:
    """Reset a connection, as a killed process does."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


Fault = Callable[[Exchange], Awaitable[None]]
"""Handles one request. The connection is closed afterwards."""


@dataclass
class FaultProxy:
    """Forwards a port to a service; an armed fault affects the next calls."""

    port: int
    service_port: int
    strikes: int = 0
    late_statuses: list[int] = field(default_factory=list)
    exhausted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once an armed fault has been applied the requested number of times."""

    _fault: Fault | None = None
    _times: int = 0
    _server: asyncio.Server | None = None
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _background_tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The URL under which the gateway calls the service."""
        return f"http://{HOST}:{self.port}"

    def arm(self, fault: Fault | None, *, times: int = 1) -> None:
        """Apply the fault to the next `times` calls; None forwards all calls unchanged."""
        self._fault, self._times = fault, times
        if fault is not None:
            self.strikes = 0
            self.exhausted.clear()

    async def listen(self) -> None:
        """Start listening."""
        self._server = await asyncio.start_server(
            self._serve, HOST, self.port, limit=STREAM_LIMIT, reuse_address=True, start_serving=True
        )

    async def refuse(self) -> None:
        """Refuse new connections and break existing ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._open):
            writer.transport.abort()

    async def aclose(self) -> None:
        await self.refuse()
        for task in list(self._background_tasks):
            task.cancel()
        await asyncio.gather(*self._background_tasks, return_exceptions=True)

    def run_in_background(self, work: Awaitable[None]) -> None:
        """Run a coroutine in the background, also after its exchange has ended."""
        task = asyncio.ensure_future(work)
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)

    async def wait_for_background(self) -> None:
        """Wait until all delayed deliveries are done."""
        await asyncio.gather(*self._background_tasks)

    async def send_to_service(self, request: Message) -> Message:
        """Send a request over a separate connection and return the response; raises ConnectionError."""
        reader, writer = await asyncio.open_connection(HOST, self.service_port, limit=STREAM_LIMIT)
        try:
            writer.write(request.raw)
            response = await read_message(reader)
        except asyncio.IncompleteReadError as cut:
            raise ConnectionResetError("the service closed the connection within its response") from cut
        finally:
            writer.close()
        if response is None:
            raise ConnectionResetError("the service closed the connection without a response")
        return response

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            # a stream server reports its task's cancellation at the end of the suite as a failure
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (request := await read_message(reader)) is not None:
                    if (fault := self._next(request)) is not None:
                        await fault(Exchange(request, self, writer))
                        break
                    await Exchange(request, self, writer).respond((await self.send_to_service(request)).raw)
        finally:
            self._open.discard(writer)
            writer.close()

    def _next(self, request: Message) -> Fault | None:
        if self._fault is None or self._times == 0 or request.target in _EXEMPT_PATHS:
            return None
        self._times -= 1
        self.strikes += 1
        if self._times == 0:
            self.exhausted.set()
        return self._fault


def slower(times: float) -> Fault:
    """Return a fault that makes the service slower by a factor."""

    async def fault(exchange: Exchange) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        response = await exchange.forward()
        await asyncio.sleep((times - 1.0) * (clock() - began))
        await exchange.respond(response.raw)

    return fault


def delayed(seconds: float) -> Fault:
    """Return a fault that delays the response, after the service has processed the request."""

    async def fault(exchange: Exchange) -> None:
        response = await exchange.forward()
        await asyncio.sleep(seconds)
        await exchange.respond(response.raw)

    return fault


async def reset_before(exchange: Exchange) -> None:
    """Reset the connection before the service receives the request."""
    exchange.reset()


async def reset_after(exchange: Exchange) -> None:
    """Reset the connection after the service has processed the request."""
    await exchange.forward()
    exchange.reset()


async def empty_response(exchange: Exchange) -> None:
    """Close the connection after the service has processed the request, without a response."""
    await exchange.forward()


async def truncated(exchange: Exchange) -> None:
    """Send the first half of the response."""
    raw = (await exchange.forward()).raw
    await exchange.respond(raw[: len(raw) // 2])


async def head_only(exchange: Exchange) -> None:
    """Send the response's head without its body."""
    await exchange.respond((await exchange.forward()).head)


def dribbled(pieces: int, pause_s: float) -> Fault:
    """Return a fault that sends the response in pieces with pauses."""

    async def fault(exchange: Exchange) -> None:
        raw = (await exchange.forward()).raw
        size = max(1, -(-len(raw) // pieces))
        for start in range(0, len(raw), size):
            await exchange.respond(raw[start : start + size])
            await asyncio.sleep(pause_s)

    return fault


async def duplicated(exchange: Exchange) -> None:
    """Deliver the request twice concurrently and return the first response."""
    first, _ = await asyncio.gather(exchange.forward(), exchange.forward())
    await exchange.respond(first.raw)


def delivered_late(seconds: float) -> Fault:
    """Return a fault that resets the connection and delivers the request later."""

    async def fault(exchange: Exchange) -> None:
        exchange.proxy.run_in_background(_deliver(exchange, seconds))
        exchange.reset()

    return fault


def delivered_again_late(seconds: float) -> Fault:
    """Return a fault that forwards the request and delivers it again later."""

    async def fault(exchange: Exchange) -> None:
        response = await exchange.forward()
        exchange.proxy.run_in_background(_deliver(exchange, seconds))
        await exchange.respond(response.raw)

    return fault


async def _deliver(exchange: Exchange, seconds: float) -> None:
    """Deliver the request after a delay, and record the status of the response."""
    await asyncio.sleep(seconds)
    with suppress(OSError):
        response = await exchange.forward()
        exchange.proxy.late_statuses.append(int(response.head.split(b" ", 2)[1]))
