"""Protocols of uvicorn with limits on a connection: an idle client, an endless request head, a client that never reads.

Input is parsed in pieces, and only up to the next request or message for the app, so that no connection blocks the
event loop for long.

uvicorn waits for a request without a deadline, keeps a head of any length, and waits for a socket that accepts no more
data to close by itself. Each of these keeps a file descriptor, and the last one a slot.
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
"""For a whole request to come, body and all; a slow body is refused politely before that."""
MAX_HEAD_BYTES = 64 * 1024
UNACKNOWLEDGED_LIMIT_S = 30.0
"""How long the kernel keeps what a client does not take."""
CLOSE_FRAME_TIMEOUT_S = 1.0
"""For the close frame to leave before a client that does not answer is cut off."""
PIECE_BYTES = 1024
"""What is parsed before the next look at the time and at what waits for the app."""
PARSE_SLICE_S = 0.002
"""How long one connection is parsed before the others have their turn."""
MAX_HEADERS = 128
MAX_BODY_PIECES = 8 * 1024
"""Calls for the body of one request: a body in chunks of a byte takes longer to read than to send."""


class _SlicedFlowControl(FlowControl):
    """Flow control that reads on only when what was read before has been parsed."""

    def __init__(self, transport: Transport, parse_soon: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._parse_soon = parse_soon

    def resume_reading(self) -> None:
        """Go on with what came before, or else read on."""
        was_paused, self.read_paused = self.read_paused, False
        if was_paused and not self._parse_soon():
            self._transport.resume_reading()


class HttpProtocol(HttpToolsProtocol):
    """HTTP that waits for a request as long as a client may take, and no longer."""

    _deadline: TimerHandle | None = None
    _is_in_head = True
    _head_bytes = _body_pieces = 0
    _unparsed = b""
    _parsing: Handle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.flow = _SlicedFlowControl(transport, self._parse_soon)
        _limit_unacknowledged_data(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._cancel_deadline()
        self._unparsed = b""
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, while it is on its way to being a request in time."""
        if self._deadline is None:
            self._start_deadline()
        if not self._unparsed and len(data) <= PIECE_BYTES:
            self._parse(data)
        else:
            self._unparsed += data
            self._parse_slice()

    def _parse_slice(self) -> None:
        """Parse until a request waits behind another one, a body has to be taken or the time is up."""
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
        """Go on with what came, once the others had their turn; say whether there is anything."""
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
        """Go on with what came behind the request."""
        super().on_response_complete()
        self._parse_soon()

    def on_message_begin(self) -> None:
        """Begin to count the head, and to wait for the rest."""
        self._is_in_head, self._head_bytes, self._body_pieces = True, 0, 0
        if self._deadline is None:
            self._start_deadline()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count the headers."""
        super().on_header(name, value)
        if len(self.headers) == MAX_HEADERS + 1:
            self.send_400_response("The request has too many headers.")

    def on_body(self, body: bytes) -> None:
        """Count the pieces that a body comes in."""
        self._body_pieces += 1
        if self._body_pieces > MAX_BODY_PIECES:
            self.transport.abort()
        elif not self.transport.is_closing():
            super().on_body(body)

    def on_headers_complete(self) -> None:
        """Count no more."""
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait no more: the request is there."""
        self._cancel_deadline()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the socket that it becomes."""
        self._cancel_deadline()
        super().handle_websocket_upgrade()

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_DEADLINE_S, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A WebSocket that is gone when it is closed, whether or not the client takes what was sent to it before."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._unparsed = b""
        self._parsing: Handle | None = None

    def data_received(self, data: bytes) -> None:
        """Take what came; it is parsed as far as to the next message."""
        self._unparsed += data
        self._parse_slice()

    def _parse_slice(self) -> None:
        """Parse until a message waits for the app, or the time is up; a client without budget waits for its share."""
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
        """Charge the client of the socket; return how long it has to wait."""
        scope: dict[str, Any] = getattr(self, "scope", {})
        account: ClientAccount | None = scope.get(ACCOUNT_SCOPE_KEY)
        return 0.0 if account is None else account.charge(seconds)

    def _is_full(self) -> bool:
        """Return whether a message waits for the app on an open socket."""
        return not self.queue.empty() and not self.close_sent

    def _update_reading(self) -> None:
        """Read on only when everything that came has been parsed and taken."""
        if self.transport.is_closing():
            return
        is_paused = bool(self._unparsed) or self._is_full()
        if is_paused != self.read_paused:
            self.read_paused = is_paused
            (self.transport.pause_reading if is_paused else self.transport.resume_reading)()

    async def receive(self) -> Any:
        """Return the next message, and go on with what came behind it."""
        await asyncio.sleep(0)  # a message that is there already would be taken without a turn of the others
        message = await self.queue.get()
        if self.queue.empty():
            self._parse_slice()
        return message

    def keepalive_timeout(self) -> None:
        """Say goodbye to a client that answers no ping, and cut it off."""
        super().keepalive_timeout()
        self._abort_later(CLOSE_FRAME_TIMEOUT_S)

    async def run_asgi(self) -> None:
        """Serve the socket; what the client has not taken a while after its end is dropped."""
        await super().run_asgi()
        self._abort_later(self.close_timeout + CLOSE_FRAME_TIMEOUT_S)

    def _abort_later(self, delay_s: float) -> None:
        self.loop.call_later(delay_s, self.transport.abort)


def _limit_unacknowledged_data(transport: Transport) -> None:
    """Let the kernel drop a connection whose peer takes nothing; where it cannot, connections end as they did."""
    connection: Any = transport.get_extra_info("socket")
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNACKNOWLEDGED_LIMIT_S * 1000))
