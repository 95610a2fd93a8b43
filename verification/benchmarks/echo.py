"""The bare echo: the minimum cost of two hops, with a Starlette WebSocket server in front of a raw ASGI app.

The front uses a general client: the httpx API over aiohttp's transport, one persistent client, a Unix socket. It has no
episodes, databases or signatures.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import orjson
import uvicorn
from httpx_aiohttp import AiohttpTransport
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from companyos_gateway.process.uvicorn_options import UVICORN_OPTIONS
from verification.ports import free_port, wait_for_port

HOST = "127.0.0.1"
ANSWER = orjson.dumps({"key": "OPS-1042", "title": "x" * 60, "description": "y" * 600, "tags": ["z"] * 8})
"""A response about as large as a ticket."""

_HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())]


async def back(scope: Any, receive: Any, send: Any) -> None:
    """Read the request and return fixed bytes."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": ANSWER})


def front(socket: str) -> Starlette:
    """Return the app that forwards each message and returns the response."""
    session: dict[str, httpx.AsyncClient] = {}

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        def connect() -> aiohttp.ClientSession:
            return aiohttp.ClientSession(connector=aiohttp.UnixConnector(path=socket, limit=256, keepalive_timeout=60))

        async with httpx.AsyncClient(base_url="http://back", transport=AiohttpTransport(client=connect)) as client:
            session["back"] = client
            yield

    async def relay(websocket: WebSocket) -> None:
        await websocket.accept()
        client = session["back"]
        try:
            while True:
                message = orjson.loads(await websocket.receive_text())
                if message["write"]:
                    answer = await client.post("/echo", content=orjson.dumps(message))
                else:
                    answer = await client.get("/echo")
                await websocket.send_text(answer.text)
        except WebSocketDisconnect:
            return

    return Starlette(routes=[WebSocketRoute("/ws", relay)], lifespan=lifespan)


@contextmanager
def running_echo() -> Iterator[str]:
    """Run front and back as two processes inside the context; yield the WebSocket's address."""
    with tempfile.TemporaryDirectory() as folder:
        socket, port = str(Path(folder) / "back.sock"), free_port()
        commands = [["back", socket], ["front", socket, str(port)]]
        processes = [
            subprocess.Popen([sys.executable, "-m", "verification.benchmarks.echo", *command]) for command in commands
        ]
        try:
            wait_for_port(port)
            while not os.path.exists(socket):
                time.sleep(0.02)
            yield f"ws://{HOST}:{port}/ws"
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def main(side: str, socket: str, port: str = "0") -> None:
    """Serve one side until stopped."""
    if side == "back":
        uvicorn.run(back, uds=socket, log_level="error", lifespan="off", **UVICORN_OPTIONS)
    else:
        uvicorn.run(front(socket), host=HOST, port=int(port), log_level="error", **UVICORN_OPTIONS)


if __name__ == "__main__":
    main(*sys.argv[1:])
