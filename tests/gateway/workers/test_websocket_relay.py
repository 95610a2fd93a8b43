"""The WebSocket relay between real sockets: byte by byte, with backpressure, to the right worker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from companyos_gateway.workers import websocket_relay
from companyos_gateway.workers.frames import (
    MAX_HEADER_BYTES,
    MessageCounter,
    continues_episode,
    frame_length,
    header_length,
    reports_error,
    reports_unknown,
)
from companyos_gateway.workers.pool import WorkerPool
from companyos_gateway.workers.websocket_relay import POOL_STATE, WebSocketRelay

HEAD = b"GET /ws HTTP/1.1\r\nHost: here\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n"
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
UNKNOWN = b'{"type":"error","data":{"message":"unknown-episode: No.","code":"EXECUTION_ERROR"}}'
CONFLICT = b'{"type":"error","data":{"message":"episode-exists: It is live.","code":"EXECUTION_ERROR"}}'
FORK = b'{"type": "reset", "data": {"injected_state": {"snapshot": "s"}}}'
RESUME = b'{"type": "reset", "data": {"resume": "token"}}'
STEP = b'{"type": "step", "data": {"tool_name": "get_ticket"}}'
STATE = b'{"type": "state"}'
LONG_STEP = b'{"type": "step", "data": {"tool_name": "search_tickets", "arguments": {"text": "a longer one"}}}'
PING = b"\x89\x00"
Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _frame(payload: bytes, key: bytes = b"") -> bytes:
    """Return a text frame; with a key of four bytes, it is masked like a client's."""
    size, masked = len(payload), 0x80 if key else 0
    length = bytes([masked | size]) if size < 126 else bytes([masked | 126]) + size.to_bytes(2, "big")
    return (
        b"\x81" + length + key + bytes(each ^ (key or b"\0")[at % max(1, len(key))] for at, each in enumerate(payload))
    )


def _sent(payload: bytes) -> bytes:
    return _frame(payload, b"\x01\x02\x03\xff")


@asynccontextmanager
async def _relayed(
    folder: Path, *behaviours: Behaviour | None
) -> AsyncIterator[tuple[WorkerPool, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect a client to a relay in front of workers with the given behaviors; None is a worker that is down."""
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


@asynccontextmanager
async def _opened(
    folder: Path, *behaviours: Behaviour | None
) -> AsyncIterator[tuple[WorkerPool, asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect a client whose handshake the first worker has accepted."""
    async with _relayed(folder, *behaviours) as (pool, reader, writer):
        writer.write(HEAD)
        assert await _read_head(reader) == SWITCHING
        yield pool, reader, writer


async def _wait_for_websockets(pool: WorkerPool, counts: list[int]) -> None:
    for _ in range(500):
        if [worker.websockets for worker in pool.workers] == counts:
            return
        await asyncio.sleep(0.01)
    raise AssertionError([worker.websockets for worker in pool.workers])


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


def _answering(answer: bytes, seen: list[tuple[str, bytes]], name: str = "") -> Behaviour:
    """Return a worker that records every message, and responds with a ping and an answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((name, await _read_head(reader)))
        writer.write(SWITCHING)
        with suppress(asyncio.IncompleteReadError):
            while True:
                frame = await reader.readexactly(8)  # the longest header of these messages
                length = frame_length(frame)
                assert length is not None
                seen.append((name, frame + await reader.readexactly(length - 8)))
                writer.write(PING + _frame(answer))
        writer.close()

    return serve


async def test_a_worker_sees_the_address_of_the_client_and_frames_pass_unchanged(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []
    async with _opened(tmp_path, _answering(b"hello", seen)) as (pool, reader, writer):
        for message in (_sent(STEP), _sent(RESUME), _sent(b"x" * 5000), _sent(STEP) * 3):
            writer.write(message)
            for _ in range(3 if message == _sent(STEP) * 3 else 1):
                assert await asyncio.wait_for(reader.readexactly(9), 5) == PING + _frame(b"hello")
        assert pool.workers[0].websockets == 1
    head = b"GET /ws HTTP/1.1\r\nHost: here\r\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: ws\r\n\r\n"
    messages = [_sent(STEP), _sent(RESUME), _sent(b"x" * 5000), *[_sent(STEP)] * 3]
    assert [data for _, data in seen] == [head, *messages]
    assert pool.workers[0].websockets == 0


async def test_of_a_piece_with_many_frames_only_their_headers_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[int] = []

    def recorded(data: bytes | bytearray) -> int | None:
        copied.append(len(data))
        return frame_length(data)

    monkeypatch.setattr(websocket_relay, "frame_length", recorded)
    seen: list[tuple[str, bytes]] = []
    async with _opened(tmp_path, _answering(b"hello", seen)) as (_pool, reader, writer):
        writer.write(_sent(STEP) * 100)
        await asyncio.wait_for(reader.readexactly(9 * 100), 5)
    assert len(copied) >= 100
    assert max(copied) <= MAX_HEADER_BYTES


async def test_fragmented_messages_are_relayed_completely(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []
    async with _opened(tmp_path, _answering(b"hello", seen)) as (_pool, reader, writer):
        messages = [_sent(STEP), _sent(RESUME), _sent(b"y" * 6000), _sent(STEP)]
        sent = b"".join(messages)
        for at in range(0, len(sent), 7):
            writer.write(sent[at : at + 7])
            await asyncio.sleep(0)
        for _ in messages:
            await asyncio.wait_for(reader.readexactly(9), 5)
    assert [data for _, data in seen][1:] == messages


async def test_a_reset_that_resumes_is_relayed_to_the_worker_that_has_the_episode(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []
    first, second, third = (
        _answering(answer, seen, name) for name, answer in (("1", UNKNOWN), ("2", UNKNOWN), ("3", b"known"))
    )
    async with _opened(tmp_path, first, second, third) as (pool, reader, writer):
        writer.write(_sent(STEP))  # an error about another message is the answer
        assert await asyncio.wait_for(reader.readexactly(len(UNKNOWN) + 4), 5) == PING + _frame(UNKNOWN)
        writer.write(_sent(RESUME) + _sent(STEP))  # the step waits for the answer to the reset
        expected = PING + _frame(b"known") + PING + _frame(b"known")
        assert await asyncio.wait_for(reader.readexactly(len(expected)), 5) == expected
        await asyncio.sleep(0.01)
        assert [worker.websockets for worker in pool.workers] == [0, 0, 1]
    messages = [(name, data) for name, data in seen if not data.startswith(b"GET")]
    assert messages == [("1", _sent(STEP)), *((name, _sent(RESUME)) for name in "123"), ("3", _sent(STEP))]


def _slow(answers: dict[bytes, bytes], seen: list[bytes]) -> Behaviour:
    """Return a worker that records every message, and answers none until it has received two."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def answer() -> None:
            while True:
                message = await received.get()
                await may_answer.wait()
                for piece in (PING, _frame(answers[message])):
                    writer.write(piece[:3])
                    await asyncio.sleep(0)
                    writer.write(piece[3:])

        received: asyncio.Queue[bytes] = asyncio.Queue()
        may_answer = asyncio.Event()
        answering = asyncio.create_task(answer())
        await _read_head(reader)
        writer.write(SWITCHING)
        with suppress(asyncio.IncompleteReadError):
            while True:
                header = await reader.readexactly(6)
                masked = await reader.readexactly(header[1] & 0x7F)
                seen.append(_frame(masked, header[2:])[6:])
                received.put_nowait(seen[-1])
                if len(seen) == 2:
                    may_answer.set()
        answering.cancel()
        writer.close()

    return serve


async def test_the_answers_to_earlier_messages_are_not_taken_as_the_answer_to_a_reset(tmp_path: Path) -> None:
    seen, other = list[bytes](), list[tuple[str, bytes]]()
    first = _slow({STATE: b"state", LONG_STEP: b"s" * 3000, RESUME: UNKNOWN}, seen)
    async with _opened(tmp_path, first, _answering(b"known", other, "2")) as (pool, reader, writer):
        writer.write(_sent(STATE) + _sent(LONG_STEP) + _sent(RESUME))
        writer.write(_sent(STEP))
        expected = PING + _frame(b"state") + PING + _frame(b"s" * 3000) + PING + _frame(b"known")
        expected += PING + _frame(b"known")
        assert await asyncio.wait_for(reader.readexactly(len(expected)), 5) == expected
        await _wait_for_websockets(pool, [0, 1])
    assert seen == [STATE, LONG_STEP, RESUME]
    assert [data for _, data in other][1:] == [_sent(RESUME), _sent(STEP)]


async def test_a_name_that_no_worker_knows_is_rejected_by_the_first_which_continues(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []
    workers = [_answering(UNKNOWN, seen, name) for name in ("1", "2")]
    async with _opened(tmp_path, *workers) as (pool, reader, writer):
        for message in (RESUME, STEP):
            writer.write(_sent(message))
            await asyncio.wait_for(reader.readuntil(UNKNOWN), 5)
        await asyncio.sleep(0.01)
        assert [worker.websockets for worker in pool.workers] == [1, 0]
    assert ("1", _sent(STEP)) in seen
    assert ("2", _sent(STEP)) not in seen


async def test_a_fork_that_another_worker_rejects_leaves_the_connection_where_it_is(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []
    workers = [_answering(answer, seen, name) for name, answer in (("1", UNKNOWN), ("2", CONFLICT), ("3", CONFLICT))]
    async with _opened(tmp_path, *workers) as (pool, reader, writer):
        writer.write(_sent(FORK) + _sent(STEP))
        expected = PING + _frame(CONFLICT) + PING + _frame(UNKNOWN)
        assert await asyncio.wait_for(reader.readexactly(len(expected)), 5) == expected
        await _wait_for_websockets(pool, [1, 0, 0])
    messages = [(name, data) for name, data in seen if not data.startswith(b"GET")]
    assert messages == [("1", _sent(FORK)), ("2", _sent(FORK)), ("1", _sent(STEP))]


async def test_a_client_that_disconnects_during_a_reset_leaves_no_connection(tmp_path: Path) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _read_head(reader)
        writer.write(SWITCHING)
        await reader.read()
        writer.close()

    async with _opened(tmp_path, _answering(UNKNOWN, []), silent) as (pool, _reader, writer):
        writer.write(_sent(RESUME))
        await _wait_for_websockets(pool, [1, 1])
        writer.close()
        await _wait_for_websockets(pool, [0, 0])


async def test_a_name_that_a_missing_worker_may_know_is_not_reported_as_unknown(tmp_path: Path) -> None:
    async with _opened(tmp_path, _answering(UNKNOWN, []), None) as (_pool, reader, writer):
        writer.write(_sent(RESUME))
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await asyncio.wait_for(reader.readuntil(UNKNOWN), 5)


async def test_without_a_worker_a_socket_is_rejected_with_503(tmp_path: Path) -> None:
    async with _relayed(tmp_path, None, None) as (_pool, reader, writer):
        writer.write(HEAD)
        answer = await asyncio.wait_for(reader.read(), 5)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: " in head
    assert b'"code":"services-unavailable"' in body
    assert f"Content-Length: {len(body)}".encode() in head


async def test_a_rejected_handshake_is_relayed(tmp_path: Path) -> None:
    refusal = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno"

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _read_head(reader)
        writer.write(refusal)
        writer.close()

    async with _relayed(tmp_path, refuse) as (_pool, reader, writer):
        writer.write(HEAD)
        assert await asyncio.wait_for(reader.read(), 5) == refusal


async def test_a_client_that_does_not_read_pauses_its_worker_without_using_memory(tmp_path: Path) -> None:
    written = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await _read_head(reader)
        writer.write(SWITCHING)
        while not (reader.at_eof() or writer.is_closing()):
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


@pytest.mark.parametrize("key", [b"", b"\x01\x02\x03\xff"])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535])
def test_the_length_of_a_frame_is_parsed_from_its_header(size: int, key: bytes) -> None:
    frame = _frame(b"x" * size, key)
    header = header_length(frame)
    assert header is not None
    assert frame_length(frame) == len(frame) == header + size
    assert frame_length(frame + b"more") == len(frame)
    assert [frame_length(frame[:few]) for few in range(header)] == [None] * header


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_messages_are_counted_in_pieces_of_any_size(size: int) -> None:
    first_part, last_part = b"\x01\x03abc", b"\x80\x01d"
    stream = PING + _frame(b"") + _frame(b"x" * 130) + first_part + PING + last_part + _sent(STEP) + b"\x88\x02\x03\xe8"
    counter = MessageCounter()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert sum(counter.count(piece) for piece in pieces) == 4
    assert not counter.is_within_frame
    for part in (b"\x81", b"\x7e\x00", b"\x02x"):
        counter.count(part)
        assert counter.is_within_frame
    assert counter.count(b"x") == 0
    assert not counter.is_within_frame


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (RESUME, True),
        (FORK, True),
        (b'{"type":"reset","data":{"seed":1,"resume":null}}', False),
        (STEP, False),
        (b'{"type":"step","data":{"text":"reset, resume"}}', False),
        (b"", False),
    ],
)
def test_a_reset_that_continues_something_is_recognized(message: bytes, expected: bool) -> None:
    assert continues_episode(_sent(message)) is expected
    assert not continues_episode(_frame(message))


def test_every_error_of_a_worker_is_recognized() -> None:
    assert reports_error(_frame(UNKNOWN))
    assert reports_error(_frame(CONFLICT))
    assert not reports_error(_frame(b'{"type":"observation","data":{"type":"error"}}'))


def test_only_an_unknown_name_error_is_recognized_as_one() -> None:
    assert reports_unknown(_frame(UNKNOWN))
    assert reports_unknown(_frame(UNKNOWN.replace(b"episode", b"snapshot")))
    assert not reports_unknown(_frame(b'{"type":"observation","data":{"text":"unknown-episode: "}}'))
    assert not reports_unknown(_frame(UNKNOWN.replace(b"unknown-episode", b"episode-done")))
