"""Relays WebSockets to workers byte by byte, so that a step costs little more than without the router.

A new connection goes to the worker with the fewest WebSockets. If that worker does not know the episode that a reset
continues, or the snapshot that it forks, the reset is sent to the other workers, and the connection moves to the one
that does. A connection that is attached to a session goes to the worker of the session and stays there.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.middleware.error_responses import RETRY_AFTER_S
from companyos_gateway.workers.addressing import attached_session
from companyos_gateway.workers.frames import (
    MAX_HEADER_BYTES,
    MAX_INSPECTED_BYTES,
    MessageCounter,
    continues_episode,
    ends_message,
    frame_length,
    is_control,
    reports_error,
    reports_unknown,
)

if TYPE_CHECKING:
    from companyos_gateway.workers.pool import Worker, WorkerPool

POOL_STATE = "companyos.workers"
"""Key of the pool in the lifespan state of the router."""

MAX_HELD_BYTES = 1024 * 1024
"""Maximum number of bytes buffered from a client before its connection is open or during a reset."""

_HEAD_END = b"\r\n\r\n"
_SWITCHING = b" 101 "
_FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto")


class WebSocketRelay(asyncio.Protocol):
    """The client's side of a relayed connection; replaces uvicorn's WebSocket protocol."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        self._pool: WorkerPool = app_state[POOL_STATE]
        self._connections: set[Any] = server_state.connections
        self._loop = asyncio.get_running_loop()
        self._client: asyncio.Transport
        self._head = b""
        self._home: _WorkerSide | None = None
        """The connection to the worker that serves the client."""
        self._trial: _WorkerSide | None = None
        """The connection to another worker, to which a reset is sent again."""
        self._is_attached = False
        """True if the connection uses a session that was created over HTTP, and therefore cannot move."""
        self._is_open = False
        self._left_of_frame = 0
        """Number of bytes of the client's current frame that have not been received yet."""
        self._incomplete = b""
        """The beginning of a short frame whose rest has not been received yet."""
        self._held = bytearray()
        """Data that the client sent before the connection was open or during a reset.

        If no reset is pending, it begins with one that waits for the answers to earlier messages.
        """
        self._unanswered = 0
        """Number of messages whose answers are pending, except for a reset."""
        self._reset = b""
        """The reset whose response is pending."""
        self._refusal = b""
        self._candidates: list[Worker] = []
        self._is_unreachable = False
        self._connecting: asyncio.Task[Any] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take over the connection of a request for a WebSocket."""
        self._client = transport
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Relay data of the client; the first piece is the head of the request."""
        if self._connecting is None:
            self._head = data
            session = attached_session(data)
            self._is_attached = session is not None
            self._candidates = self._pool.by_load() if session is None else self._pool.by_name(session)
            self._connecting = self._loop.create_task(self._connect_home())
        elif self._is_open and not self._reset and not self._held:
            self._relay(data)
        else:
            self._held += data
            if len(self._held) > MAX_HELD_BYTES:
                self._client.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connections to workers."""
        self._connections.discard(self)
        if self._connecting is not None:
            self._connecting.cancel()
        for side in (self._home, self._trial):
            if side is not None:
                side.finish()

    def pause_writing(self) -> None:
        """Stop reading from the worker while the client does not read."""
        if self._home is not None:
            self._home.pause()

    def resume_writing(self) -> None:
        """Continue to read from the worker."""
        if self._home is not None:
            self._home.resume()

    def pause_client(self) -> None:
        """Stop reading from the client while the worker does not read."""
        if not self._client.is_closing():
            self._client.pause_reading()

    def resume_client(self) -> None:
        """Continue to read from the client."""
        if not self._client.is_closing():
            self._client.resume_reading()

    def shutdown(self) -> None:
        """Close the connection when the router stops, after the workers have closed their sides."""
        self._client.close()

    def opened(self, side: _WorkerSide, head: bytes) -> None:
        """Process a worker's response to the request for a WebSocket."""
        is_accepted = _SWITCHING in head.partition(b"\r\n")[0]
        if side is self._home:
            self._client.write(head)
            self._is_open = is_accepted
            self._release()
        elif is_accepted:
            side.write(self._reset)
        else:
            self._try_next(side, is_unreachable=True)

    def received(self, side: _WorkerSide, data: bytes) -> None:
        """Relay data of a worker; the response to a reset decides which worker serves the client."""
        messages = side.messages.count(data)
        if not self._reset:
            if side is self._home:
                self._client.write(data)
                self._unanswered = max(0, self._unanswered - messages)
                self._start_reset()
            return
        side.answer += data
        while side.answer:
            length = frame_length(side.answer)
            if length is None or len(side.answer) < length:
                return
            if not is_control(side.answer):
                break
            if side is self._home:
                self._client.write(bytes(side.answer[:length]))
            del side.answer[:length]
        else:
            return
        self._decide(side)

    def _decide(self, side: _WorkerSide) -> None:
        """Process a worker's response to a reset. If it is an error, the client's own worker continues to serve it."""
        if side is self._home:
            if not reports_unknown(side.answer):
                self._settle(side)
                return
            self._refusal = bytes(side.answer)
            self._candidates = [worker for worker in self._pool.by_load() if worker is not side.worker]
            self._is_unreachable = False
            self._try_next(None)
        elif reports_unknown(side.answer):
            self._try_next(side)
        elif reports_error(side.answer):
            self._refusal, self._is_unreachable = bytes(side.answer), False
            self._candidates.clear()
            self._try_next(side)
        else:
            self._settle(side)

    def lost(self, side: _WorkerSide) -> None:
        """Close the client's side if its worker closes; try the next worker if another one closes during a reset."""
        if side is self._home:
            self._client.close()
        elif self._reset and not side.is_finished:
            self._try_next(side, is_unreachable=True)

    def _relay(self, data: bytes) -> None:
        """Pass frames to the worker, up to a reset that another worker may have to serve."""
        assert self._home is not None
        data = self._incomplete + data
        at = min(self._left_of_frame, len(data))
        self._left_of_frame -= at
        self._incomplete = b""
        while at < len(data):
            length = frame_length(data[at : at + MAX_HEADER_BYTES])
            is_whole = length is not None and at + length <= len(data)
            if length is None or (not is_whole and length <= MAX_INSPECTED_BYTES):
                data, self._incomplete = data[:at], data[at:]
            elif is_whole and not self._is_attached and continues_episode(data[at : at + length]):
                data, self._held = data[:at], bytearray(data[at:])
            else:
                self._unanswered += ends_message(data[at])
                self._left_of_frame = max(0, at + length - len(data))
                at += length
        self._home.write(data)
        self._start_reset()

    def _start_reset(self) -> None:
        """Pass on a waiting reset once all earlier messages are answered, so that the next answer is its own."""
        if self._home is None or not self._is_open or not self._held:
            return
        if not self._unanswered and not self._home.messages.is_within_frame:
            length = frame_length(self._held)
            self._reset, self._held = bytes(self._held[:length]), self._held[length:]
            self._home.write(self._reset)

    def _release(self) -> None:
        """End the reset and relay the buffered data."""
        self._reset, held = b"", bytes(self._held)
        self._held.clear()
        if held:
            self._relay(held)

    def _settle(self, side: _WorkerSide) -> None:
        """Continue with the worker that knows the episode or the snapshot of the reset."""
        home, self._home = self._home, side
        if home is not None and home is not side:
            home.finish()
        self._client.write(bytes(side.answer))
        side.answer.clear()
        self._release()

    def _try_next(self, side: _WorkerSide | None, *, is_unreachable: bool = False) -> None:
        """Send the reset to the next worker; without one, send the client the response of its own worker, or abort."""
        self._is_unreachable |= is_unreachable
        if side is not None:
            side.finish()
        if self._candidates:
            self._connecting = self._loop.create_task(self._connect(self._candidates.pop(0)))
        elif self._is_unreachable or self._home is None:
            self._client.abort()  # the unreachable worker may know the name: the client has to retry
        else:
            self._client.write(self._refusal)
            self._home.answer.clear()
            self._release()

    async def _connect(self, worker: Worker) -> _WorkerSide | None:
        """Connect to a worker and send it the head of the request; None if it cannot be reached."""
        side = _WorkerSide(self, worker)
        try:
            await self._loop.create_unix_connection(lambda: side, str(worker.socket))
        except OSError:
            if self._home is not None:
                self._try_next(side, is_unreachable=True)
            return None
        if self._home is None:
            self._home = side
        else:
            self._trial = side
        side.write(self._head)
        return side

    async def _connect_home(self) -> None:
        """Connect to the first worker that can be reached."""
        self._head = await self._with_client_headers(self._head)
        for worker in self._candidates:
            if await self._connect(worker) is not None:
                return
        body = ServicesUnavailableError("No worker can be reached.").body().model_dump_json(exclude_none=True)
        self._client.write(
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
            + f"Retry-After: {RETRY_AFTER_S}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        self._client.close()

    async def _with_client_headers(self, head: bytes) -> bytes:
        """Return the head of a request with the actual address and scheme of the client instead of the claimed ones.

        Values from a trusted proxy are accepted, as for uvicorn's own WebSockets.
        """
        request_line, *lines = head.removesuffix(_HEAD_END).split(b"\r\n")
        headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        peer = self._client.get_extra_info("peername")
        scope: Scope = {"type": "websocket", "scheme": "ws", "client": peer, "headers": headers}
        if trusted := os.environ.get("FORWARDED_ALLOW_IPS"):
            await ProxyHeadersMiddleware(_do_nothing, trusted)(scope, _receive_nothing, _send_nothing)  # type: ignore[arg-type]
        kept = [(name, value) for name, value in headers if name.lower() not in _FORWARDED]
        forwarded = [
            (b"x-forwarded-for", str(scope["client"][0] if scope["client"] else "").encode()),
            (b"x-forwarded-proto", scope["scheme"].encode()),
        ]
        return b"\r\n".join([request_line, *(name + b": " + value for name, value in kept + forwarded)]) + _HEAD_END


class _WorkerSide(asyncio.Protocol):
    """A connection to a worker."""

    def __init__(self, relay: WebSocketRelay, worker: Worker) -> None:
        self.worker = worker
        self.answer = bytearray()
        """Data that the worker has sent since a reset."""
        self.messages = MessageCounter()
        """Counter of the messages of the worker."""
        self.is_finished = False
        self._relay = relay
        self._transport: asyncio.Transport | None = None
        self._head: bytearray | None = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self.worker.websockets += 1

    def data_received(self, data: bytes) -> None:
        if self._head is None:
            self._relay.received(self, data)
            return
        self._head += data
        head, end, rest = bytes(self._head).partition(_HEAD_END)
        if end:
            self._head = None
            self._relay.opened(self, head + end)
            if rest:
                self._relay.received(self, rest)

    def connection_lost(self, exc: Exception | None) -> None:
        self.worker.websockets -= 1
        self._relay.lost(self)

    def pause_writing(self) -> None:
        self._relay.pause_client()

    def resume_writing(self) -> None:
        self._relay.resume_client()

    def write(self, data: bytes) -> None:
        if self._transport is not None and data:
            self._transport.write(data)

    def pause(self) -> None:
        with suppress(RuntimeError):
            if self._transport is not None:
                self._transport.pause_reading()

    def resume(self) -> None:
        with suppress(RuntimeError):
            if self._transport is not None:
                self._transport.resume_reading()

    def finish(self) -> None:
        """Close the connection; the relay continues with another one or ends."""
        self.is_finished = True
        if self._transport is not None:
            self._transport.close()


async def _do_nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Do nothing: the middleware is only used to change the scope."""


async def _receive_nothing() -> dict[str, Any]:
    return {}


async def _send_nothing(_message: Any) -> None:
    return None
