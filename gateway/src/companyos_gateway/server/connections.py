"""The server's own end of a connection: what is cut when a client says nothing, says it without end, or never listens.

uvicorn waits for a request as long as it takes to come, keeps its head however long it is, and lets a socket that takes
nothing any more close by itself, which it never does. Each of these keeps a descriptor, and the last one a slot.
"""

from __future__ import annotations

import socket
from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

REQUEST_DEADLINE_S = 15.0
"""For a whole request to come, body and all; a slow body is refused politely before that."""
MAX_HEAD_BYTES = 64 * 1024
UNTAKEN_LIMIT_S = 30.0
"""How long the kernel keeps what a client does not take."""
LAST_WORD_S = 1.0
"""For the close frame to leave before a client that does not answer is cut off."""


class PatientHttp(HttpToolsProtocol):
    """HTTP that waits for a request as long as a client may take, and no longer."""

    _deadline: TimerHandle | None = None
    _is_in_head = True
    _head_bytes = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        _bound_what_is_not_taken(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, while it is on its way to being a request in time."""
        if self._deadline is None:
            self._wait()
        super().data_received(data)
        if self._is_in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Begin to count the head."""
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Count no more."""
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait no more: the request is there."""
        self._wait_no_more()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the socket that it becomes."""
        self._wait_no_more()
        super().handle_websocket_upgrade()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_DEADLINE_S, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class DecidedSocket(WebSocketsSansIOProtocol):
    """A WebSocket that is gone when it is closed, whether or not the client takes what was sent to it before."""

    def keepalive_timeout(self) -> None:
        """Say goodbye to a client that answers no ping, and cut it off."""
        super().keepalive_timeout()
        self._cut(LAST_WORD_S)

    async def run_asgi(self) -> None:
        """Serve the socket; what the client has not taken a while after its end is dropped."""
        await super().run_asgi()
        self._cut(self.close_timeout + LAST_WORD_S)

    def _cut(self, delay_s: float) -> None:
        self.loop.call_later(delay_s, self.transport.abort)


def _bound_what_is_not_taken(transport: Transport) -> None:
    """Let the kernel drop a connection whose peer takes nothing; where it cannot, connections end as they did."""
    connection: Any = transport.get_extra_info("socket")
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNTAKEN_LIMIT_S * 1000))
