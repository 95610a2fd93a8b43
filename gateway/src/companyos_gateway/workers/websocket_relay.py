"""Passes a WebSocket on to the worker whose episode it asks for, byte by byte, so that a step costs little more.

A new connection goes to the worker with the fewest. If that one does not know what the first message names (an episode
to resume, a snapshot to fork), the same request and message go to the next, and the client sees the last answer alone.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.middleware.error_responses import RETRY_AFTER_S
from companyos_gateway.workers.addressing import client_headers, names_unknown

if TYPE_CHECKING:
    from companyos_gateway.workers.pool import Worker, WorkerPool

POOL_STATE = "companyos.workers"
"""Key in the lifespan state of the router's pool."""

MAX_FIRST_MESSAGE_BYTES = 1024 * 1024 + 64 * 1024
"""What is kept to be sent again: the largest message that a worker accepts, and more than its frame."""

_HEAD_END = b"\r\n\r\n"
_SWITCHING = b" 101 "
_TEXT_FRAME = 0x81
_FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto")
_LENGTH_16, _LENGTH_64 = 126, 127


class WebSocketRelay(asyncio.Protocol):
    """The client's side of a relayed connection, in the place of uvicorn's WebSocket protocol."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        self._pool: WorkerPool = app_state[POOL_STATE]
        self._connections: set[Any] = server_state.connections
        self._loop = asyncio.get_running_loop()
        self._client: asyncio.Transport
        self._worker: _WorkerSide | None = None
        self._candidates = self._pool.by_load()
        self._head = b""
        self._sent = bytearray()
        self._was_unreachable = self._has_head = self._is_answered = self._is_bound = False
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take over the connection of a request that asks for a WebSocket."""
        self._client = transport
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Pass on what the client sends; the first piece is the head of the request."""
        if self._connecting is None:
            self._head = self._with_client_headers(data)
            self._connecting = self._loop.create_task(self._connect())
            return
        if not self._is_bound:
            self._sent += data
        if len(self._sent) > MAX_FIRST_MESSAGE_BYTES:
            self._client.abort()
        elif self._worker is not None and self._is_answered:
            self._worker.write(data)

    def eof_received(self) -> None:
        """Close both sides."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connection to the worker."""
        self._connections.discard(self)
        if self._connecting is not None:
            self._connecting.cancel()
        if self._worker is not None:
            self._worker.close()

    def pause_writing(self) -> None:
        """Take nothing from the worker while the client takes nothing."""
        if self._worker is not None:
            self._worker.pause()

    def resume_writing(self) -> None:
        """Go on with the worker."""
        if self._worker is not None:
            self._worker.resume()

    def pause_client(self) -> None:
        """Take nothing from the client while the worker takes nothing."""
        if not self._client.is_closing():
            self._client.pause_reading()

    def resume_client(self) -> None:
        """Go on with the client."""
        if not self._client.is_closing():
            self._client.resume_reading()

    def shutdown(self) -> None:
        """Close the connection at the end of the router; the workers have said goodbye before."""
        self._client.close()

    def answered(self, side: _WorkerSide, head: bytes) -> bool:
        """Pass on the head of a worker's answer; that of a further worker says the same.

        Return whether what follows are frames.
        """
        if not self._has_head:
            self._has_head = True
            self._client.write(head)
        self._is_answered = True
        is_open = _SWITCHING in head.partition(b"\r\n")[0]
        if is_open and self._sent:
            side.write(bytes(self._sent))
        elif not is_open:
            self._bind()
        return is_open

    def received(self, data: bytes) -> bool:
        """Pass on frames; return False if the connection goes on with the next worker instead."""
        if not self._is_bound:
            if self._candidates and names_unknown(data):
                self._worker, self._is_answered = None, False
                self._connecting = self._loop.create_task(self._connect())
                return False
            if self._was_unreachable and names_unknown(data):
                self._client.abort()  # the worker that may know it is being started again: the client tries again
                return False
            if data[0] == _TEXT_FRAME:
                self._bind()
        self._client.write(data)
        return True

    def lost(self, side: _WorkerSide) -> None:
        """Close the client's side with that of its worker."""
        if side is self._worker:
            self._client.close()

    def _bind(self) -> None:
        self._is_bound = True
        self._sent.clear()

    async def _connect(self) -> None:
        """Connect to the next worker that can be reached, and send it the head of the request."""
        while self._candidates:
            worker = self._candidates.pop(0)
            side = _WorkerSide(self, worker)
            try:
                await self._loop.create_unix_connection(lambda side=side: side, str(worker.socket))  # type: ignore[misc]
            except OSError:
                self._was_unreachable = True
                continue
            self._worker = side
            side.write(self._head)
            return
        if not self._has_head:
            body = ServicesUnavailableError("No worker can be reached.").body().model_dump_json(exclude_none=True)
            self._client.write(
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
                + f"Retry-After: {RETRY_AFTER_S}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            )
        self._client.close()

    def _with_client_headers(self, head: bytes) -> bytes:
        """Return the head of a request with the address of its client in the place of what it says of itself."""
        request_line, *lines = head.removesuffix(_HEAD_END).split(b"\r\n")
        pairs = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        peer = self._client.get_extra_info("peername")
        told = client_headers(peer[0] if isinstance(peer, tuple) else "", pairs, os.environ)
        kept = [(name, value) for name, value in pairs if name.lower() not in _FORWARDED]
        return b"\r\n".join([request_line, *(name + b": " + value for name, value in [*kept, *told])]) + _HEAD_END


class _WorkerSide(asyncio.Protocol):
    """The connection to a worker: its head, then its first frame whole, then every piece as it comes."""

    def __init__(self, relay: WebSocketRelay, worker: Worker) -> None:
        self._relay = relay
        self._count = worker
        self._transport: asyncio.Transport | None = None
        self._begun: bytearray | None = bytearray()
        self._has_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._count.websockets += 1

    def data_received(self, data: bytes) -> None:
        if self._begun is None:
            self._relay.received(data)
            return
        self._begun += data
        if not self._has_head:
            head, end, rest = bytes(self._begun).partition(_HEAD_END)
            if not end:
                return
            self._has_head = True
            if not self._relay.answered(self, head + end):
                self._begun = None
                self._relay.received(rest)
                return
            self._begun = bytearray(rest)
        if self._begun and len(self._begun) >= frame_length(self._begun):
            first = bytes(self._begun)
            self._begun = bytearray() if first[0] != _TEXT_FRAME else None
            if not self._relay.received(first):
                self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._count.websockets -= 1
        if self._begun:
            self._relay.received(bytes(self._begun))
        self._relay.lost(self)

    def pause_writing(self) -> None:
        self._relay.pause_client()

    def resume_writing(self) -> None:
        self._relay.resume_client()

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def pause(self) -> None:
        with suppress(RuntimeError):
            if self._transport is not None:
                self._transport.pause_reading()

    def resume(self) -> None:
        with suppress(RuntimeError):
            if self._transport is not None:
                self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def frame_length(data: bytes | bytearray) -> int:
    """Return the length in bytes of the unmasked frame that begins with these bytes (RFC 6455, section 5.2).

    More than there are, if they are too few to tell.
    """
    if len(data) < 2:
        return 2
    short = data[1] & 0x7F
    if short < _LENGTH_16:
        return 2 + short
    size = 2 if short == _LENGTH_16 else 8
    return len(data) + 1 if len(data) < 2 + size else 2 + size + int.from_bytes(data[2 : 2 + size], "big")
