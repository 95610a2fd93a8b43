"""Reads HTTP/1.1 messages from a stream as raw bytes, for forwarding."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

_END_OF_HEAD = b"\r\n\r\n"
STREAM_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Message:
    """A request or response: its head including the blank line, and its raw body."""

    head: bytes
    body: bytes

    @property
    def raw(self) -> bytes:
        """All bytes of the message."""
        return self.head + self.body

    @property
    def target(self) -> str:
        """The path of a request."""
        return self.head.split(b" ", 2)[1].decode("latin-1")


async def read_message(reader: asyncio.StreamReader) -> Message | None:
    """Return the next message, or None at the end of the stream; raises IncompleteReadError inside a message."""
    try:
        head = await reader.readuntil(_END_OF_HEAD)
    except asyncio.IncompleteReadError as ended:
        if ended.partial:
            raise
        return None
    fields = _fields(head)
    if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
        return Message(head, await _chunks(reader))
    return Message(head, await reader.readexactly(int(fields.get(b"content-length", b"0"))))


def _fields(head: bytes) -> dict[bytes, bytes]:
    lines = head.split(b"\r\n")[1:]
    pairs = (line.partition(b":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        chunk = await reader.readexactly(int(size.split(b";")[0], 16) + 2)
        body += size + chunk
        if chunk == b"\r\n":
            return body
