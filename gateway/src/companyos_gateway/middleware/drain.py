"""Graceful shutdown: reject new requests, complete accepted ones, then close the connections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_gateway.engine.errors import ShuttingDownError, UnansweredError
from companyos_gateway.middleware.error_responses import problem_response

DRAIN_DEADLINE_S = 5.0
"""A step can take longer if a service hangs. Its request gets status 504, and the next start completes the step."""

SERVICE_RESTART: Final = 1012

MIN_DRAIN_S = 0.2
"""Minimum number of seconds in which connected clients still get 503 responses before their connections close."""

_POLL_S = 0.02
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_log = logging.getLogger(__name__)


class DrainState:
    """Requests in flight of one app, and whether it is shutting down."""

    def __init__(self) -> None:
        self.is_draining = False
        self.started = asyncio.Event()
        """Set when draining starts, for streams that would never end by themselves."""
        self.requests = 0
        self.sockets: set[DrainingSocket] = set()

    @property
    def in_flight(self) -> int:
        """Number of accepted requests and messages without a response so far."""
        return self.requests + sum(socket.busy for socket in self.sockets)

    async def drain(self, is_idle: Callable[[], bool] = lambda: True) -> None:
        """Reject new requests, and return once all accepted ones are complete or after DRAIN_DEADLINE_S.

        Idle sockets close at once, busy ones after their response, both with code 1012. `is_idle` returns whether the
        steps of disconnected clients are complete as well.
        """
        self.is_draining = True
        self.started.set()
        clock = asyncio.get_running_loop().time
        began_at = clock()
        _log.info("draining: %d at work, %d sockets", self.in_flight, len(self.sockets))
        closing = asyncio.gather(*(socket.close() for socket in self.sockets if not socket.busy))
        while clock() < began_at + DRAIN_DEADLINE_S:
            if not self.in_flight and is_idle() and clock() > began_at + MIN_DRAIN_S:
                break
            await asyncio.sleep(_POLL_S)
        closing.cancel()  # of sockets whose clients do not read
        if self.in_flight:
            _log.warning("%d requests were not answered within %g s", self.in_flight, DRAIN_DEADLINE_S)


class DrainMiddleware:
    """ASGI middleware that counts requests in flight; while draining it rejects new requests except reads."""

    def __init__(self, app: ASGIApp, drain: DrainState) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] not in _READS:
            await self._serve_request(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        drain = self._drain
        if drain.is_draining:
            await problem_response(ShuttingDownError())(scope, receive, send)
            return
        drain.requests += 1
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:  # the server cancels the remaining requests after the drain
            with suppress(RuntimeError):  # the response has started
                await problem_response(UnansweredError())(scope, receive, send)
            raise
        finally:
            drain.requests -= 1

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = DrainingSocket(self._drain, receive, send)
        self._drain.sockets.add(socket)
        try:
            await self._app(scope, socket.receive, send)
        finally:
            self._drain.sockets.discard(socket)


class DrainingSocket:
    """One socket: busy from a message until the app waits for the next one."""

    __slots__ = ("_drain", "_is_open", "_receive", "_send", "busy")

    def __init__(self, drain: DrainState, receive: Receive, send: Send) -> None:
        self._drain = drain
        self._receive = receive
        self._send = send
        self._is_open = False
        self.busy = False

    async def receive(self) -> Message:
        """Return the next message, or while draining only the disconnect."""
        self.busy = False
        if self._drain.is_draining:
            await self.close()
        while True:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                self._is_open = message["type"] == "websocket.connect"
                return message
            if not self._drain.is_draining:
                self.busy = True
                return message

    async def close(self) -> None:
        """Close the socket with code 1012 if it is open; its receiving side then ends."""
        if self._is_open:
            self._is_open = False
            with suppress(OSError, RuntimeError):
                await self._send({"type": "websocket.close", "code": SERVICE_RESTART, "reason": ShuttingDownError.code})
