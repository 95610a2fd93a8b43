"""Requests sent straight to an ASGI app, without the overhead of a client."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message

DEADLINE_S = 60.0

Header = tuple[bytes, bytes]
HOST: Header = (b"host", b"localhost")


async def send_request(
    app: ASGIApp, method: str, path: bytes, *, query: bytes = b"", headers: Sequence[Header] = (), body: bytes = b""
) -> int:
    """Return the status of the response; disconnect from an endless stream once it has started."""
    coming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    began, statuses = asyncio.Event(), [0]

    async def receive() -> Message:
        if coming:
            return coming.pop()
        await began.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses[0] = message["status"]
        else:
            began.set()

    named = {name for name, _ in headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "root_path": "",
        "query_string": query,
        "headers": [*headers, *([] if b"host" in named else [HOST])],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "state": {},
    }
    async with asyncio.timeout(DEADLINE_S):
        await app(scope, receive, send)
    return statuses[0]
