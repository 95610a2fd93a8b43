"""What the fault proxy does to one request, seen from both ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import pytest

from faults import proxy
from faults.http_messages import Message, read_message
from faults.process import HOST, free_port
from faults.proxy import FaultProxy

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"
REQUEST = b"POST /tickets HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class Service:
    """A service that answers every request with the same bytes and remembers when each came."""

    port: int
    heard: list[Message] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_message(reader)) is not None:
            self.heard.append(request)
            writer.write(ANSWER)
        writer.close()


@asynccontextmanager
async def wired() -> AsyncIterator[tuple[Service, FaultProxy]]:
    chance = Random()
    service = Service(free_port(chance))
    server = await asyncio.start_server(service.serve, HOST, service.port)
    wire = FaultProxy(free_port(chance), service.port)
    await wire.listen()
    try:
        yield service, wire
    finally:
        await wire.aclose()
        server.close()


async def told(wire: FaultProxy, request: bytes = REQUEST) -> bytes:
    """Return every byte that comes back before the connection ends or a whole answer is there."""
    reader, writer = await asyncio.open_connection(HOST, wire.port)
    writer.write(request)
    found = b""
    try:
        while not found.endswith(b"done") and (piece := await reader.read(4096)):
            found += piece
    finally:
        writer.close()
    return found


async def test_without_a_fault_everything_passes() -> None:
    async with wired() as (service, wire):
        assert await told(wire) == ANSWER
        assert [message.raw for message in service.heard] == [REQUEST]


@pytest.mark.parametrize(
    ("fault", "heard"), [(proxy.reset_before, 0), (proxy.reset_after, 1)], ids=["before the call", "after the call"]
)
async def test_a_reset_breaks_the_connection(fault: proxy.Fault, heard: int) -> None:
    async with wired() as (service, wire):
        wire.arm(fault)
        with pytest.raises(ConnectionResetError):
            await told(wire)
        assert len(service.heard) == heard


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (proxy.empty, lambda: b""),
        (proxy.half, lambda: ANSWER[: len(ANSWER) // 2]),
        (proxy.headless, lambda: ANSWER.removesuffix(b"done")),
    ],
    ids=["empty", "half", "headless"],
)
async def test_an_answer_is_cut(fault: proxy.Fault, wanted: Callable[[], bytes]) -> None:
    async with wired() as (service, wire):
        wire.arm(fault)
        assert await told(wire) == wanted()
        assert len(service.heard) == 1


@pytest.mark.parametrize(
    "fault",
    [proxy.dribbled(7, 0.001), proxy.slower(2.0), proxy.held_back(0.01)],
    ids=["dribbled", "slower", "held back"],
)
async def test_a_late_answer_is_whole(fault: proxy.Fault) -> None:
    async with wired() as (_, wire):
        wire.arm(fault)
        assert await told(wire) == ANSWER


async def test_a_duplicate_is_heard_twice_and_answered_once() -> None:
    async with wired() as (service, wire):
        wire.arm(proxy.duplicated)
        assert await told(wire) == ANSWER
        assert len(service.heard) == 2


async def test_a_late_call_arrives_when_nobody_waits_for_it() -> None:
    async with wired() as (service, wire):
        wire.arm(proxy.late(0.02))
        with pytest.raises(ConnectionResetError):
            await told(wire)
        assert not service.heard
        await wire.settled()
        assert [message.raw for message in service.heard] == [REQUEST]
        assert wire.late_statuses == [200]


async def test_a_late_twin_comes_behind_its_answer() -> None:
    async with wired() as (service, wire):
        wire.arm(proxy.late_twin(0.02))
        assert await told(wire) == ANSWER
        assert len(service.heard) == 1
        await wire.settled()
        assert len(service.heard) == 2


async def test_a_fault_strikes_as_often_as_it_is_told_to() -> None:
    async with wired() as (_, wire):
        wire.arm(proxy.empty, times=2)
        assert [await told(wire) for _ in range(3)] == [b"", b"", ANSWER]
        assert wire.spent.is_set()
        assert wire.struck == 2
        wire.arm(None)
        assert wire.struck == 2


async def test_nobody_s_health_is_struck() -> None:
    async with wired() as (_, wire):
        wire.arm(proxy.empty)
        assert await told(wire, b"GET /readyz HTTP/1.1\r\n\r\n") == ANSWER


async def test_what_refuses_connections_takes_them_again() -> None:
    async with wired() as (_, wire):
        await wire.refuse()
        with pytest.raises(ConnectionRefusedError):
            await told(wire)
        await wire.listen()
        assert await told(wire) == ANSWER


async def test_a_chunked_answer_is_passed_on_as_it_came() -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    reader = asyncio.StreamReader()
    reader.feed_data(raw + REQUEST)
    first, second = await read_message(reader), await read_message(reader)
    assert first is not None
    assert first.raw == raw
    assert second is not None
    assert second.target == "/tickets"


async def test_a_message_that_breaks_off_is_no_message() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(REQUEST[:-1])
    reader.feed_eof()
    with pytest.raises(asyncio.IncompleteReadError):
        await read_message(reader)
