"""Misbehaving clients: truncated raw requests, and a WebSocket episode resumed by another client."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import aiohttp
import orjson

from verification.faults.gateway_client import DEADLINE_S, GatewayClient
from verification.faults.proxy import reset_connection
from verification.faults.server_process import HOST


class WebSocketRequestError(Exception):
    """Raised for an error message from the gateway; contains its text."""


class RawClient:
    """A raw TCP connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    @classmethod
    async def connect(cls, client: GatewayClient) -> Self:
        """Connect to a gateway."""
        _, writer = await asyncio.open_connection(HOST, int(client.url.rpartition(":")[2]))
        return cls(writer)

    async def send(self, path: str, body: dict[str, Any], *, share: float = 1.0) -> None:
        """Send a POST request, or the first part of its bytes."""
        content = orjson.dumps(body)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        raw = head.encode() + content
        self._writer.write(raw[: max(1, int(len(raw) * share))])
        await self._writer.drain()

    def die(self) -> None:
        """Reset the connection, as a killed process does."""
        reset_connection(self._writer.transport)


class WebSocketClient:
    """One WebSocket to a gateway."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    @classmethod
    async def connect(cls, client: GatewayClient) -> Self:
        return cls(await client.session.ws_connect(f"{client.url}/ws", compress=0, max_msg_size=0))

    async def reset(self, **options: Any) -> dict[str, Any]:
        """Begin or resume an episode; raises WebSocketRequestError."""
        return await self.request("reset", options)

    async def state(self) -> dict[str, Any]:
        """Return the episode's state."""
        return await self.request("state", None)

    async def step(self, action: dict[str, Any]) -> dict[str, Any]:
        """Take a step; raises WebSocketRequestError."""
        return await self.request("step", {"type": "call_tool", **action})

    async def send(self, kind: str, data: dict[str, Any] | None) -> None:
        """Send a message without waiting for the response."""
        message = {"type": kind} if data is None else {"type": kind, "data": data}
        await self._socket.send_str(orjson.dumps(message).decode())

    async def request(self, kind: str, data: dict[str, Any] | None) -> dict[str, Any]:
        """Send a message and return the response; raises WebSocketRequestError, or ConnectionError."""
        await self.send(kind, data)
        async with asyncio.timeout(DEADLINE_S):
            message = await self._socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionResetError(f"the WebSocket closed: {message.type.name}")
        response: dict[str, Any] = orjson.loads(message.data)
        if response["type"] == "error":
            raise WebSocketRequestError(response["data"]["message"])
        return dict(response["data"])

    async def close(self) -> None:
        """Close the connection cleanly."""
        await self._socket.close()

    def die(self) -> None:
        """Reset the connection, as a killed process does."""
        reset_connection(self._socket._writer.transport)
