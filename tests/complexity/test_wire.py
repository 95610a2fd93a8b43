"""No bytes on a connection block the gateway's event loop for long: heads, chunks, pipelined requests, frames.

The server runs over TCP in this process. The measured value is the maximum CPU time of one event loop iteration.
"""

from __future__ import annotations

import asyncio
import os
import struct
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import uvicorn

from companyos_gateway.app import create_app
from companyos_gateway.process.uvicorn_options import uvicorn_options
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from tests.promises.conftest import Record
from verification.in_process import in_process_service_clients

pytestmark = pytest.mark.matrix

SENT_BYTES = 512 * 1024
HELD_S = 0.02
"""Maximum CPU time of one event loop iteration, including this test's own client."""
WATCHED_S = 0.7
REPEATS = 3


def _frames(payload: bytes, opcode: int) -> bytes:
    one = bytes([0x80 | opcode, 0x80 | len(payload)]) + bytes(4) + payload
    return one * (SENT_BYTES // len(one))


def _fragments() -> bytes:
    return b"\x01\x80" + bytes(4) + b"\x00\x80\x00\x00\x00\x00" * (SENT_BYTES // 6)


_GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
_POST = b"POST /step HTTP/1.1\r\nHost: localhost\r\n"

REQUESTS: dict[str, Callable[[], bytes]] = {
    "pipelined requests": lambda: (_GET + b"\r\n") * (SENT_BYTES // 40),
    "short pipelined requests": lambda: b"GET / HTTP/1.1\r\nHost:a\r\n\r\n" * (SENT_BYTES // 26),
    "many headers": lambda: _GET + b"a:b\r\n" * (SENT_BYTES // 5),
    "one long header": lambda: _GET + b"a:" + b"b" * SENT_BYTES,
    "a long path": lambda: b"GET /" + b"a" * SENT_BYTES,
    "chunks of one byte": lambda: _POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * (SENT_BYTES // 6),
    "extensions of a chunk": lambda: _POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a=b;" * (SENT_BYTES // 4),
    "line ends": lambda: b"\r\n" * (SENT_BYTES // 2),
    "no request": lambda: bytes(SENT_BYTES),
}
FRAMES: dict[str, Callable[[], bytes]] = {
    "empty messages": lambda: _frames(b"", 1),
    "short messages": lambda: _frames(b"{}", 1),
    "pings": lambda: _frames(b"", 9),
    "pongs": lambda: _frames(b"", 10),
    "fragments": _fragments,
    "a long message": lambda: b"\x81\xff" + struct.pack("!Q", SENT_BYTES) + bytes(4) + b"[" * SENT_BYTES,
}


@asynccontextmanager
async def _served(app: object) -> AsyncIterator[int]:
    options = {**uvicorn_options(Settings()), "loop": "none"}
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, **options))  # type: ignore[arg-type]
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - a flag of the server
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


async def _held_s(port: int, sent: bytes, *, upgrade: bool) -> float:
    """Return the longest blocking of the event loop while data is sent, which the server may reject at any time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    if upgrade:
        key = b64encode(os.urandom(16)).decode()
        lines = ["GET /ws HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        writer.write("\r\n".join(lines).encode())
        await reader.readuntil(b"\r\n\r\n")
    longest, until = 0.0, time.perf_counter() + WATCHED_S
    writer.write(sent)
    answers = asyncio.create_task(_discard(reader))
    while time.perf_counter() < until and not answers.done():
        began = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - began)
    answers.cancel()
    writer.transport.abort()
    return longest


async def _discard(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(1 << 16):
            pass


@pytest.mark.parametrize("name", [*REQUESTS, *FRAMES])
async def test_a_large_message_does_not_block_the_event_loop(
    tmp_path: Path, name: str, record_property: Record
) -> None:
    sent = (REQUESTS.get(name) or FRAMES[name])()
    with in_process_service_clients(tmp_path) as service_clients:
        async with _served(create_app(GatewayRuntime(Settings(), service_clients=service_clients))) as port:
            held_s = await _held_s(port, sent, upgrade=name in FRAMES)
            for _ in range(REPEATS):
                if held_s >= HELD_S:  # perhaps because of other work on this machine
                    held_s = min(held_s, await _held_s(port, sent, upgrade=name in FRAMES))
    record_property(f"{len(sent)} bytes of {name}: longest turn of the loop, ms CPU", f"{held_s * 1000:.1f}")
    assert held_s < HELD_S
