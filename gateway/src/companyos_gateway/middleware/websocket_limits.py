"""Connection slots: limits the number of open WebSockets, evicts idle ones and rejects further ones.

A slot is acquired before a socket is served and always released after it. All times are on the monotonic clock, so a
jump of the wall clock neither ends nor extends a session.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import JsonRpcErrorCode
from openenv.core.env_server.types import WSErrorCode
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_gateway.middleware.json_rpc import MCP_PATH, JsonRpcRequestError
from companyos_shared.web.route_path import route_path

IDLE_BEFORE_EVICTION_S = 60.0
CLOSE_DEADLINE_S = 1.0

ON_SOCKET: ContextVar[bool] = ContextVar("ON_SOCKET", default=False)
"""True in tasks that serve a socket."""

_DISCONNECTED = (OSError, RuntimeError)
"""Errors of uvicorn for a message to a client whose connection is lost, and to one that has closed its socket."""

NORMAL, POLICY, TRY_AGAIN_LATER = 1000, 1008, 1013
"""Close codes of RFC 6455 and its IANA registry."""


@dataclass(eq=False, slots=True)
class Slot:
    """One open socket. It is idle while it waits for a message."""

    receive_: Receive
    send_: Send
    used_at: float = field(default_factory=time.monotonic)
    idle: bool = False
    has_received: bool = False
    is_closing: bool = False
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> Message:
        """Return the client's next message, or a disconnect if the socket is being closed."""
        self.used_at, self.idle = time.monotonic(), True
        message = await self.receive_()
        if self.is_closing:
            return {"type": "websocket.disconnect", "code": TRY_AGAIN_LATER}
        self.used_at, self.idle = time.monotonic(), False
        self.has_received = self.has_received or message["type"] == "websocket.receive"
        return message

    async def send(self, message: Message) -> None:
        """Send a message; one to a client that has disconnected is dropped, as `receive` returns the disconnect next.

        A normal close before the client has sent anything gets code 1008, policy violation.
        """
        if self.is_closing:
            return
        if message["type"] == "websocket.close" and message.get("code", NORMAL) == NORMAL and not self.has_received:
            message = {**message, "code": POLICY}
        with suppress(*_DISCONNECTED) if message["type"] == "websocket.send" else nullcontext():
            await self.send_(message)

    async def close(self, code: int, reason: str) -> None:
        """Close an idle socket; returns when its slot is free, or after CLOSE_DEADLINE_S.

        If the client does not accept the close message, the socket stays open until a ping fails.
        """
        self.is_closing = True
        try:
            await asyncio.wait_for(
                self.send_({"type": "websocket.close", "code": code, "reason": reason}), CLOSE_DEADLINE_S
            )
        except TimeoutError:
            self.is_closing = False
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self.closed.wait(), CLOSE_DEADLINE_S)


class WebSocketSlots:
    """The open sockets of the process."""

    def __init__(self, *, limit: int, idle_limit_s: float) -> None:
        self.limit = limit
        self._idle_limit_s = idle_limit_s
        self._open: set[Slot] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def acquire(self, receive: Receive, send: Send) -> Slot | None:
        """Return a slot, or None if none is free. If all are used, the longest idle socket may be evicted."""
        if len(self._open) >= self.limit:
            longest = min(
                (slot for slot in self._open if slot.idle and not slot.is_closing), key=_used_at, default=None
            )
            if longest is not None and time.monotonic() - longest.used_at > IDLE_BEFORE_EVICTION_S:
                await longest.close(TRY_AGAIN_LATER, "idle")
        if len(self._open) >= self.limit:
            return None
        slot = Slot(receive, send)
        self._open.add(slot)
        return slot

    def release(self, slot: Slot) -> None:
        """Free a slot."""
        self._open.discard(slot)
        slot.closed.set()

    async def reap(self) -> int:
        """Close the sockets that exceed the idle limit; return their number."""
        now = time.monotonic()
        idle = [
            slot for slot in self._open if slot.idle and not slot.is_closing and now - slot.used_at > self._idle_limit_s
        ]
        await asyncio.gather(*(slot.close(POLICY, "idle for too long") for slot in idle))
        return len(idle)


class WebSocketLimitMiddleware:
    """ASGI middleware that gives every socket a slot, and refuses it with an error message if none is free."""

    def __init__(self, app: ASGIApp, slots: WebSocketSlots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        slot = await self._slots.acquire(receive, send)
        if slot is None:
            await self._reject(route_path(scope), receive, send)
            return
        try:
            ON_SOCKET.set(True)
            await self._app(scope, slot.receive, slot.send)
        finally:
            self._slots.release(slot)

    async def _reject(self, path: str, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        text = orjson.dumps(_capacity_error(path, len(self._slots), self._slots.limit)).decode()
        await send({"type": "websocket.send", "text": text})
        await send({"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": "at-capacity"})


def _capacity_error(path: str, active: int, limit: int) -> dict[str, Any]:
    """Return OpenEnv's error for a reached session limit, in the protocol of the path."""
    capacity = {"active_sessions": active, "max_sessions": limit}
    text = f"at-capacity: {limit} connections are open."
    if path == MCP_PATH:
        return JsonRpcRequestError({}, JsonRpcErrorCode.SERVER_ERROR, text, capacity).reply
    return {"type": "error", "data": {"message": text, "code": WSErrorCode.CAPACITY_REACHED, **capacity}}


def _used_at(slot: Slot) -> float:
    return slot.used_at
