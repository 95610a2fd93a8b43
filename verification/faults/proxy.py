"""A proxy between the gateway and one service that does to requests what networks do to them."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from verification.faults.http_messages import STREAM_LIMIT, Message, read_message
from verification.faults.server_process import HOST

_EXEMPT_PATHS = ("/livez", "/readyz", "/openapi.json")
"""What is asked of a service beside the episodes: it passes untouched."""

_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass
class Exchange:
    """One request on its way: what a fault may do with it."""

    request: Message
    proxy: FaultProxy
    _client: asyncio.StreamWriter

    async def forward(self) -> Message:
        """Carry the request to the service and return its answer; raises ConnectionError where there is none."""
        return await self.proxy.send_to_service(self.request)

    async def respond(self, data: bytes) -> None:
        """Send bytes back."""
        self._client.write(data)
        await self._client.drain()

    def reset(self) -> None:
        """Break the connection with a reset."""
        connection = self._client.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._client.transport.abort()


Fault = Callable[[Exchange], Awaitable[None]]
"""What happens to one request. The connection is closed behind it."""


@dataclass
class FaultProxy:
    """Listens on a port and passes everything on to a service; an armed fault strikes the next calls."""

    port: int
    service_port: int
    strikes: int = 0
    late_statuses: list[int] = field(default_factory=list)
    exhausted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once an armed fault has struck as often as it was told to."""

    _fault: Fault | None = None
    _times: int = 0
    _server: asyncio.Server | None = None
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _background_tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Where the gateway finds the service."""
        return f"http://{HOST}:{self.port}"

    def arm(self, fault: Fault | None, *, times: int = 1) -> None:
        """Let the fault strike the next calls, or let everything pass for None."""
        self._fault, self._times = fault, times
        if fault is not None:
            self.strikes = 0
            self.exhausted.clear()

    async def listen(self) -> None:
        """Take connections."""
        self._server = await asyncio.start_server(
            self._serve, HOST, self.port, limit=STREAM_LIMIT, reuse_address=True, start_serving=True
        )

    async def refuse(self) -> None:
        """Refuse connections from now on, and break those there are."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._open):
            writer.transport.abort()

    async def aclose(self) -> None:
        """Stop for good."""
        await self.refuse()
        for task in list(self._background_tasks):
            task.cancel()
        await asyncio.gather(*self._background_tasks, return_exceptions=True)

    def run_in_background(self, work: Awaitable[None]) -> None:
        """Let something happen after the exchange that it belongs to."""
        task = asyncio.ensure_future(work)
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)

    async def wait_for_background(self) -> None:
        """Return once everything late has been delivered."""
        await asyncio.gather(*self._background_tasks)

    async def send_to_service(self, request: Message) -> Message:
        """Carry a request over a connection of its own; raises ConnectionError where no answer comes."""
        reader, writer = await asyncio.open_connection(HOST, self.service_port, limit=STREAM_LIMIT)
        try:
            writer.write(request.raw)
            response = await read_message(reader)
        except asyncio.IncompleteReadError as cut:
            raise ConnectionResetError("the service hung up inside of its answer") from cut
        finally:
            writer.close()
        if response is None:
            raise ConnectionResetError("the service hung up without an answer")
        return response

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            # A task of a stream server that is cancelled at the end of the suite is reported as if it had failed.
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
    """Answer that many times slower than the service does."""

    async def fault(exchange: Exchange) -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        response = await exchange.forward()
        await asyncio.sleep((times - 1.0) * (clock() - began))
        await exchange.respond(response.raw)

    return fault


def delayed(seconds: float) -> Fault:
    """Hold the answer back; the service has done its work by then."""

    async def fault(exchange: Exchange) -> None:
        response = await exchange.forward()
        await asyncio.sleep(seconds)
        await exchange.respond(response.raw)

    return fault


async def reset_before(exchange: Exchange) -> None:
    """Break the connection before the service has heard anything."""
    exchange.reset()


async def reset_after(exchange: Exchange) -> None:
    """Break the connection once the service has done its work."""
    await exchange.forward()
    exchange.reset()


async def empty_response(exchange: Exchange) -> None:
    """Close the connection politely once the service has done its work, without a byte of answer."""
    await exchange.forward()


async def truncated(exchange: Exchange) -> None:
    """Answer the first half of what the service said."""
    raw = (await exchange.forward()).raw
    await exchange.respond(raw[: len(raw) // 2])


async def head_only(exchange: Exchange) -> None:
    """Answer the head and not a byte of the body."""
    await exchange.respond((await exchange.forward()).head)


def dribbled(pieces: int, pause_s: float) -> Fault:
    """Answer in that many pieces with a pause behind each."""

    async def fault(exchange: Exchange) -> None:
        raw = (await exchange.forward()).raw
        size = max(1, -(-len(raw) // pieces))
        for start in range(0, len(raw), size):
            await exchange.respond(raw[start : start + size])
            await asyncio.sleep(pause_s)

    return fault


async def duplicated(exchange: Exchange) -> None:
    """Deliver the request twice at once and answer what the first one got."""
    first, _ = await asyncio.gather(exchange.forward(), exchange.forward())
    await exchange.respond(first.raw)


def delivered_late(seconds: float) -> Fault:
    """Break the connection and deliver the request later, when nobody waits for it any more."""

    async def fault(exchange: Exchange) -> None:
        async def deliver() -> None:
            await asyncio.sleep(seconds)
            with suppress(OSError):
                response = await exchange.forward()
                exchange.proxy.late_statuses.append(int(response.head.split(b" ", 2)[1]))

        exchange.proxy.run_in_background(deliver())
        exchange.reset()

    return fault


def delivered_again_late(seconds: float) -> Fault:
    """Pass the request on and deliver it once more later, when the episode has moved on."""

    async def fault(exchange: Exchange) -> None:
        async def deliver() -> None:
            await asyncio.sleep(seconds)
            with suppress(OSError):
                response = await exchange.forward()
                exchange.proxy.late_statuses.append(int(response.head.split(b" ", 2)[1]))

        response = await exchange.forward()
        exchange.proxy.run_in_background(deliver())
        await exchange.respond(response.raw)

    return fault
