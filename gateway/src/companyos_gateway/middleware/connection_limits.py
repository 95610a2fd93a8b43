"""Protocols of uvicorn with limits for idle clients, endless request heads and clients that never read.

Input is parsed in pieces, and only up to the next request or message for the app, so that no connection blocks the
event loop for long.

uvicorn waits for requests without a deadline, stores heads of any length, and waits until the client closes a socket
that accepts no more data. Each of these occupies a file descriptor, and the last one also a slot.
"""

from __future__ import annotations

import asyncio
import socket
import time
from asyncio import Handle, TimerHandle, Transport
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from companyos_gateway.middleware.fair_share import ClientAccount
from companyos_gateway.middleware.rate_limit import ACCOUNT_SCOPE_KEY

REQUEST_DEADLINE_S = 15.0
"""Seconds in which a request must arrive with its body. A slow body gets an error response before (BODY_DEADLINE_S)."""
MAX_HEAD_BYTES = 64 * 1024
UNACKNOWLEDGED_LIMIT_S = 30.0
"""Seconds after which the kernel closes a connection if the client does not acknowledge the sent data."""
CLOSE_FRAME_TIMEOUT_S = 1.0
"""Seconds for sending the close frame before the connection to an unresponsive client is aborted."""
PIECE_BYTES = 1024
"""Number of bytes parsed between two checks of the time and of the queue for the app."""
PARSE_SLICE_S = 0.002
"""Seconds of parsing for one connection before the event loop serves the others."""
MAX_HEADERS = 128
MAX_BODY_PIECES = 8 * 1024
"""Maximum number of pieces of a body: one in chunks of a byte takes longer to parse than to send."""


class _SlicedFlowControl(FlowControl):
    """Flow control that resumes reading only after the received data has been parsed."""

    def __init__(self, transport: Transport, parse_soon: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._parse_soon = parse_soon

    def resume_reading(self) -> None:
        """Continue to parse the received data, or resume reading if there is none."""
        was_paused, self.read_paused = self.read_paused, False
        if was_paused and not self._parse_soon():
            self._transport.resume_reading()


class HttpProtocol(HttpToolsProtocol):
    """HTTP protocol with a deadline for each request and limits on its head and its body pieces."""

    _deadline: TimerHandle | None = None
    _is_in_head = True
    _head_bytes = _body_pieces = 0
    _unparsed = b""
    _parsing: Handle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self.flow = _SlicedFlowControl(transport, self._parse_soon)
        _limit_unacknowledged_data(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline and discard unparsed data."""
        self._cancel_deadline()
        self._unparsed = b""
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received data, in slices if it is long; starts a deadline if none is running."""
        if self._deadline is None:
            self._start_deadline()
        if not self._unparsed and len(data) <= PIECE_BYTES:
            self._parse(data)
        else:
            self._unparsed += data
            self._parse_slice()

    def _parse_slice(self) -> None:
        """Parse until a request waits behind another one, a body must be consumed or PARSE_SLICE_S is over."""
        self._parsing = None
        until, data, at = time.perf_counter() + PARSE_SLICE_S, self._unparsed, 0
        while at < len(data) and self._is_http() and not self._is_full() and time.perf_counter() < until:
            self._parse(data[at : at + PIECE_BYTES])
            at += PIECE_BYTES
        self._unparsed = data[at:] if self._is_http() else b""
        if self._unparsed:
            self.transport.pause_reading()
            self._parse_soon()
        elif self._is_http() and not self.flow.read_paused:
            self.transport.resume_reading()

    def _parse_soon(self) -> bool:
        """Schedule the parsing of received data behind other callbacks; return whether there is any."""
        if self._unparsed and self._parsing is None and not self._is_full():
            self._parsing = self.loop.call_soon(self._parse_slice)
        return bool(self._unparsed)

    def _is_full(self) -> bool:
        """Return whether parsed data must be consumed before parsing more."""
        return self.flow.read_paused or bool(self.pipeline)

    def _is_http(self) -> bool:
        """Return whether the connection still speaks HTTP."""
        return not self.transport.is_closing() and self.transport.get_protocol() is self

    def _parse(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The head of the request is too large.")

    def on_response_complete(self) -> None:
        """Continue to parse the data behind the request."""
        super().on_response_complete()
        self._parse_soon()

    def on_message_begin(self) -> None:
        """Reset the counters, and start a deadline if none is running."""
        self._is_in_head, self._head_bytes, self._body_pieces = True, 0, 0
        if self._deadline is None:
            self._start_deadline()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Reject a request with more than MAX_HEADERS headers."""
        super().on_header(name, value)
        if len(self.headers) == MAX_HEADERS + 1:
            self.send_400_response("The request has too many headers.")

    def on_body(self, body: bytes) -> None:
        """Abort the connection if a body has more than MAX_BODY_PIECES pieces."""
        self._body_pieces += 1
        if self._body_pieces > MAX_BODY_PIECES:
            self.transport.abort()
        elif not self.transport.is_closing():
            super().on_body(body)

    def on_headers_complete(self) -> None:
        """Stop counting the bytes of the head."""
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Cancel the deadline, as the request is complete."""
        self._cancel_deadline()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Cancel the deadline and hand the connection over to the WebSocket protocol, which starts to read."""
        self._cancel_deadline()
        self.transport.resume_reading()
        super().handle_websocket_upgrade()

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_DEADLINE_S, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """WebSocket protocol that aborts the connection after the close, even if the client has not read all data."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unparsed = b""
        self._parsing: Handle | None = None

    def data_received(self, data: bytes) -> None:
        """Parse received data up to the next message."""
        self._unparsed += data
        self._parse_slice()

    def _parse_slice(self) -> None:
        """Parse until a message waits for the app or PARSE_SLICE_S is over; without budget, the rest is delayed."""
        if self._parsing is not None or self.transport.is_closing():
            return
        began = time.perf_counter()
        data, at = self._unparsed, 0
        while at < len(data) and not self._is_full() and time.perf_counter() < began + PARSE_SLICE_S:
            super().data_received(data[at : at + PIECE_BYTES])
            at += PIECE_BYTES
        self._unparsed = data[at:]
        delay_s = self._charge(time.perf_counter() - began)
        if self._unparsed and not self._is_full():
            self._parsing = self.loop.call_later(delay_s, self._parse_again)
        self._update_reading()

    def _parse_again(self) -> None:
        self._parsing = None
        self._parse_slice()

    def _charge(self, seconds: float) -> float:
        """Charge the client of the socket; return the seconds that it has to wait."""
        scope: dict[str, Any] = getattr(self, "scope", {})
        account: ClientAccount | None = scope.get(ACCOUNT_SCOPE_KEY)
        return 0.0 if account is None else account.charge(seconds)

    def _is_full(self) -> bool:
        """Return whether a message waits for the app on an open socket."""
        return not self.queue.empty() and not self.close_sent

    def _update_reading(self) -> None:
        """Pause reading until all received data has been parsed and consumed."""
        if self.transport.is_closing():
            return
        is_paused = bool(self._unparsed) or self._is_full()
        if is_paused != self.read_paused:
            self.read_paused = is_paused
            (self.transport.pause_reading if is_paused else self.transport.resume_reading)()

    async def receive(self) -> Any:
        """Return the next message, and continue to parse the data behind it."""
        await asyncio.sleep(0)  # lets other tasks run even if a message is already queued
        message = await self.queue.get()
        if self.queue.empty():
            self._parse_slice()
        return message

    def keepalive_timeout(self) -> None:
        """Close the connection to a client that answers no ping, and abort it after CLOSE_FRAME_TIMEOUT_S."""
        super().keepalive_timeout()
        self._abort_later(CLOSE_FRAME_TIMEOUT_S)

    async def run_asgi(self) -> None:
        """Serve the socket; a while after its end, abort the connection even if the client has not read all data."""
        await super().run_asgi()
        self._abort_later(self.close_timeout + CLOSE_FRAME_TIMEOUT_S)

    def _abort_later(self, delay_s: float) -> None:
        self.loop.call_later(delay_s, self.transport.abort)


def _limit_unacknowledged_data(transport: Transport) -> None:
    """Let the kernel drop a TCP connection whose peer acknowledges no data, if the platform supports it."""
    connection: Any = transport.get_extra_info("socket")
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNACKNOWLEDGED_LIMIT_S * 1000))
