"""A WebSocket client that drives an ASGI app in process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Message

ANSWER_DEADLINE_S = 30.0


class Socket:
    """An open socket: `exchange` sends a message and returns the response."""

    def __init__(self) -> None:
        self.to_app: asyncio.Queue[Message] = asyncio.Queue()
        self.from_app: asyncio.Queue[Message] = asyncio.Queue()
        self.send_error: Exception | None = None
        """Raised for each message of the app, as in a server whose client has disconnected."""

    async def exchange(self, message: Any) -> dict[str, Any]:
        await self.send(message)
        return await self.answer()

    async def send(self, message: Any) -> None:
        if isinstance(message, bytes):
            await self.to_app.put({"type": "websocket.receive", "bytes": message})
        else:
            text = message if isinstance(message, str) else json.dumps(message)
            await self.to_app.put({"type": "websocket.receive", "text": text})

    async def answer(self) -> dict[str, Any]:
        message = await asyncio.wait_for(self.from_app.get(), ANSWER_DEADLINE_S)
        assert message["type"] == "websocket.send", message
        answer: dict[str, Any] = json.loads(message["text"])
        return answer

    async def closed(self) -> tuple[int, str]:
        """Return the code and the reason with which the app closed the socket."""
        message = await asyncio.wait_for(self.from_app.get(), ANSWER_DEADLINE_S)
        assert message["type"] == "websocket.close", message
        return message.get("code", 1000), message.get("reason") or ""

    async def take(self, message: Message) -> None:
        """Receive a message from the app. If it closes the socket, the app gets a disconnect, as from a server."""
        if self.send_error is not None:
            raise self.send_error
        await self.from_app.put(message)
        if message["type"] == "websocket.close":
            await self.to_app.put({"type": "websocket.disconnect", "code": message.get("code", 1000)})

    async def reset(self, /, **options: Any) -> dict[str, Any]:
        return await self.exchange({"type": "reset", "data": {"scenario": "note_keeping", "seed": 1, **options}})

    async def step(self, tool_name: str, **arguments: Any) -> dict[str, Any]:
        action = {"type": "call_tool", "tool_name": tool_name, "arguments": arguments}
        return await self.exchange({"type": "step", "data": action})

    async def state(self) -> dict[str, Any]:
        answer = await self.exchange({"type": "state"})
        state: dict[str, Any] = answer["data"]
        return state


@asynccontextmanager
async def connected(
    app: ASGIApp, path: str = "/ws", query: str = "", *, headers: Sequence[tuple[bytes, bytes]] = ()
) -> AsyncIterator[Socket]:
    """Open a socket, and close it from the client's side at the end."""
    socket = Socket()
    scope = {
        "type": "websocket",
        "asgi": {"version": "3.0"},
        "scheme": "ws",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": list(headers),
        "client": ("test", 1),
        "server": ("test", 80),
        "subprotocols": [],
        "state": {},
    }
    await socket.to_app.put({"type": "websocket.connect"})
    serving = asyncio.create_task(_serve(app, scope, socket))
    accepted = await asyncio.wait_for(socket.from_app.get(), ANSWER_DEADLINE_S)
    assert accepted["type"] == "websocket.accept", accepted
    try:
        yield socket
    finally:
        await socket.to_app.put({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(serving, ANSWER_DEADLINE_S)


async def handshake(
    app: ASGIApp, path: str, headers: Sequence[tuple[bytes, bytes]], *, denial: bool = False
) -> list[Message]:
    """Attempt a handshake and return the messages that the app sends instead of accepting it."""
    received: list[Message] = []
    scope = {
        "type": "websocket",
        "path": path,
        "query_string": b"",
        "headers": list(headers),
        "extensions": {"websocket.http.response": {}} if denial else {},
    }

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        received.append(message)

    await asyncio.wait_for(app(scope, receive, send), ANSWER_DEADLINE_S)
    return received


async def _serve(app: ASGIApp, scope: dict[str, Any], socket: Socket) -> None:
    await app(scope, socket.to_app.get, socket.take)
