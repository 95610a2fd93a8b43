"""The server's protocols over real connections in this process."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect

from companyos_gateway.middleware import connection_limits
from companyos_gateway.middleware.connection_limits import PIECE_BYTES, HttpProtocol


async def _echo(_scope: Scope, receive: Receive, send: Send) -> None:
    """Accept a WebSocket and send its messages back."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


async def test_a_websocket_whose_handshake_was_parsed_in_slices_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "PARSE_SLICE_S", 0.0001)
    config = uvicorn.Config(_echo, port=0, loop="none", lifespan="off", http=HttpProtocol, ws="websockets-sansio")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - a flag of the server
        await asyncio.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    headers = {f"X-Padding-{number}": "x" * PIECE_BYTES for number in range(16)}
    try:
        async with connect(f"ws://{host}:{port}", additional_headers=headers, proxy=None) as socket:
            await socket.send("hello")
            assert await asyncio.wait_for(socket.recv(), 5) == "hello"
    finally:
        server.should_exit = True
        await serving
