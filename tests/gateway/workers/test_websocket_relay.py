"""The relay of WebSockets, between real sockets: byte by byte, with backpressure, to the right worker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from companyos_gateway.workers.pool import WorkerPool
from companyos_gateway.workers.websocket_relay import POOL_STATE, WebSocketRelay, frame_length

HEAD = b"GET /ws HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n"
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
UNKNOWN = b'{"type":"error","data":{"message":"unknown-episode: No.","code":"EXECUTION_ERROR"}}'
Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _frame(payload: bytes, opcode: int = 1) -> bytes:
    size = len(payload)
    length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
    return bytes([0x80 | opcode]) + length + payload


@asynccontextmanager
async def _relayed(
    folder: Path, *behaviours: Behaviour | None
) -> AsyncIterator[tuple[WorkerPool, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect a client to a relay in front of workers that behave as given; None is a worker that is down."""
    pool = WorkerPool(len(behaviours), folder / "data", folder)
    servers = [
        await asyncio.start_unix_server(behaviour, str(worker.socket))
        for worker, behaviour in zip(pool.workers, behaviours, strict=True)
        if behaviour is not None
    ]
    state = SimpleNamespace(connections=set())
    server = await asyncio.get_running_loop().create_server(
        lambda: WebSocketRelay(None, state, {POOL_STATE: pool}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield pool, reader, writer
    finally:
        writer.close()
        for each in [server, *servers]:
            each.close()
        await asyncio.sleep(0.01)


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


def _answering(first: bytes, heads: list[bytes]) -> Behaviour:
    """Return a worker that opens the socket, answers the first message so and echoes the others."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await _read_head(reader))
        writer.write(SWITCHING + _frame(b"", opcode=9))
        await reader.readexactly(5)
        writer.write(_frame(first))
        while data := await reader.read(1024):
            writer.write(data)
        writer.close()

    return serve


async def test_a_worker_sees_the_address_of_the_client_and_frames_pass_unchanged(tmp_path: Path) -> None:
    heads: list[bytes] = []
    async with _relayed(tmp_path, _answering(b"hello", heads)) as (pool, reader, writer):
        writer.write(HEAD)
        assert await _read_head(reader) == SWITCHING
        assert await reader.readexactly(2) == _frame(b"", opcode=9)
        writer.write(b"first")
        assert await reader.readexactly(7) == _frame(b"hello")
        writer.write(b"any bytes")
        assert await reader.readexactly(9) == b"any bytes"
        assert pool.workers[0].websockets == 1
    assert heads == [b"GET /ws HTTP/1.1\r\nHost: here\r\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: http\r\n\r\n"]
    assert pool.workers[0].websockets == 0


async def test_the_first_message_goes_to_the_worker_that_knows_what_it_names(tmp_path: Path) -> None:
    heads: list[bytes] = []
    workers = _answering(UNKNOWN, heads), _answering(UNKNOWN, heads), _answering(b"known", heads)
    async with _relayed(tmp_path, *workers) as (pool, reader, writer):
        writer.write(HEAD)
        assert await _read_head(reader) == SWITCHING
        writer.write(b"first")
        received = await asyncio.wait_for(reader.readuntil(b"known"), 5)
        assert UNKNOWN not in received
        assert b"HTTP" not in received
        writer.write(b"second")
        assert await reader.readexactly(6) == b"second"
        await asyncio.sleep(0.01)
        assert sorted(worker.websockets for worker in pool.workers) == [0, 0, 1]
    assert len(heads) == 3


async def test_an_error_of_the_last_worker_is_the_answer(tmp_path: Path) -> None:
    async with _relayed(tmp_path, _answering(UNKNOWN, []), _answering(UNKNOWN, [])) as (_pool, reader, writer):
        writer.write(HEAD)
        await _read_head(reader)
        writer.write(b"first")
        assert await asyncio.wait_for(reader.readuntil(UNKNOWN), 5)


async def test_a_name_that_a_missing_worker_may_know_is_not_called_unknown(tmp_path: Path) -> None:
    async with _relayed(tmp_path, _answering(UNKNOWN, []), None) as (_pool, reader, writer):
        writer.write(HEAD)
        await _read_head(reader)
        writer.write(b"first")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await asyncio.wait_for(reader.readuntil(UNKNOWN), 5)


async def test_without_a_worker_a_socket_is_refused_with_503(tmp_path: Path) -> None:
    async with _relayed(tmp_path, None, None) as (_pool, reader, writer):
        writer.write(HEAD)
        answer = await asyncio.wait_for(reader.read(), 5)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: " in head
    assert b'"code":"services-unavailable"' in body
    assert f"Content-Length: {len(body)}".encode() in head


async def test_a_refusal_before_the_socket_opens_is_passed_on(tmp_path: Path) -> None:
    refusal = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _read_head(reader)
        writer.write(refusal)
        writer.close()

    async with _relayed(tmp_path, refuse) as (_pool, reader, writer):
        writer.write(HEAD)
        assert await asyncio.wait_for(reader.read(), 5) == refusal


async def test_a_client_that_does_not_read_stops_its_worker_and_not_the_memory(tmp_path: Path) -> None:
    written = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await _read_head(reader)
        writer.write(SWITCHING + _frame(b"first"))
        while not reader.at_eof():
            writer.write(b"x" * 65536)
            written += 65536
            await writer.drain()

    async with _relayed(tmp_path, flood) as (_pool, _reader, writer):
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(HEAD)
        await asyncio.sleep(0.5)
        stopped_at = written
        await asyncio.sleep(0.5)
        assert written == stopped_at
        writer.transport.abort()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535])
def test_the_length_of_a_frame_is_known_from_its_first_bytes(size: int) -> None:
    frame = _frame(b"x" * size)
    assert frame_length(frame) == len(frame)
    assert frame_length(frame + b"more") == len(frame)
    for few in (b"", frame[:1], frame[:3] if size > 125 else b"\x81"):
        assert frame_length(few) > len(few)
