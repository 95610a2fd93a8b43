"""A hostile client: big bodies, slow bodies, pipelining and floods of frames over twenty sockets, until it is killed.

`python -m tests.promises.hostile_client PORT EPISODE TOKEN` prints READY once all of its sockets are open.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tests.promises.load_players import READY

BODY = b"[" * 33 + b'"' + b'\\"' * 31_000
"""62 KB that took an older version 12 seconds to parse."""
PIPELINED = 8
RECONNECT_S = 0.02
SLOW_S = 0.2

Attack = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def request(path: str, body: bytes, *headers: str) -> bytes:
    """Return an HTTP request as it travels."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def frame(payload: bytes, opcode: int = 1) -> bytes:
    """Return a WebSocket frame of a client; its mask is zero."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack("!H", size)
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


def pipelining(sent: bytes) -> Attack:
    """Send requests without waiting for the answers."""

    async def attack(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers = asyncio.ensure_future(_discard(reader))
        try:
            while not answers.done():
                writer.write(sent * PIPELINED)
                await writer.drain()
        finally:
            answers.cancel()

    return attack


def slow_body(sent: bytes) -> Attack:
    """Send a body a few bytes at a time."""

    async def attack(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for at in range(0, len(sent), 64):
            writer.write(sent[at : at + 64])
            await writer.drain()
            await asyncio.sleep(SLOW_S)

    return attack


def upgraded(sent: bytes) -> Attack:
    """Open a WebSocket and send frames without waiting for the answers."""

    async def attack(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        key = b64encode(os.urandom(16)).decode()
        lines = ["GET /ws HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
        writer.write("\r\n".join(lines).encode())
        await reader.readuntil(b"\r\n\r\n")
        await pipelining(sent)(reader, writer)

    return attack


async def _discard(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 16):
        pass


async def _again_and_again(port: int, attack: Attack, opened: asyncio.Semaphore) -> None:
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            opened.release()
            try:
                await attack(reader, writer)
            finally:
                writer.close()
        await asyncio.sleep(RECONNECT_S)


def attacks(episode: str, token: str) -> list[Attack]:
    """Return the attacks of the twenty sockets; some use the client's own episode."""
    own = f"/v1/episodes/{episode}/step"
    bearer = f"Authorization: Bearer {token}"
    listing = request(own, b'{"action":{"type":"list_tools"}}', bearer)
    return [
        *[pipelining(request("/v1/episodes/none/step", BODY))] * 4,
        *[pipelining(request(own, BODY, bearer))] * 4,
        *[pipelining(request("/step", BODY))] * 2,
        *[pipelining(listing)] * 2,
        *[pipelining(request("/v1/mcp", BODY))] * 1,
        *[pipelining(request("/reset", b'{"scenario":"none"}'))] * 1,
        *[slow_body(request(own, BODY, bearer))] * 3,
        *[upgraded(frame(BODY))] * 1,
        *[upgraded(frame(b"{") * 1000)] * 1,
        *[upgraded(frame(b"", 9) * 1000)] * 1,
    ]


async def main(port: int, episode: str, token: str) -> None:
    """Attack until killed."""
    opened = asyncio.Semaphore(0)
    chosen = attacks(episode, token)
    running = [asyncio.create_task(_again_and_again(port, attack, opened)) for attack in chosen]
    for _ in chosen:
        await opened.acquire()
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    await asyncio.gather(*running)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:4]))
