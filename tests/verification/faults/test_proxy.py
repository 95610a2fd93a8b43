"""Fault proxy: the effect of each fault on one request, seen from gateway and service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import pytest

from verification.faults import proxy
from verification.faults.proxy import FaultProxy, Message, read_message
from verification.faults.server_process import HOST, free_port

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"
REQUEST = b"POST /tickets HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class Service:
    """A service that returns fixed bytes and records the time of each request."""

    port: int
    received: list[Message] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_message(reader)) is not None:
            self.received.append(request)
            writer.write(ANSWER)
        writer.close()


@asynccontextmanager
async def service_and_proxy() -> AsyncIterator[tuple[Service, FaultProxy]]:
    rng = Random()
    service = Service(free_port(rng))
    server = await asyncio.start_server(service.serve, HOST, service.port)
    wire = FaultProxy(free_port(rng), service.port)
    await wire.listen()
    try:
        yield service, wire
    finally:
        await wire.aclose()
        server.close()


async def send_request(wire: FaultProxy, request: bytes = REQUEST) -> bytes:
    """Return the bytes received until the connection ends or the response is complete."""
    reader, writer = await asyncio.open_connection(HOST, wire.port)
    writer.write(request)
    found = b""
    try:
        while not found.endswith(b"done") and (piece := await reader.read(4096)):
            found += piece
    finally:
        writer.close()
    return found


async def test_without_a_fault_messages_are_passed_unchanged() -> None:
    async with service_and_proxy() as (service, wire):
        assert await send_request(wire) == ANSWER
        assert [message.raw for message in service.received] == [REQUEST]


@pytest.mark.parametrize(
    ("fault", "received"), [(proxy.reset_before, 0), (proxy.reset_after, 1)], ids=["before the call", "after the call"]
)
async def test_a_reset_breaks_the_connection(fault: proxy.Fault, received: int) -> None:
    async with service_and_proxy() as (service, wire):
        wire.arm(fault)
        with pytest.raises(ConnectionResetError):
            await send_request(wire)
        assert len(service.received) == received


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (proxy.empty_response, lambda: b""),
        (proxy.truncated, lambda: ANSWER[: len(ANSWER) // 2]),
        (proxy.head_only, lambda: ANSWER.removesuffix(b"done")),
    ],
    ids=["empty", "half", "headless"],
)
async def test_a_response_is_truncated(fault: proxy.Fault, expected: Callable[[], bytes]) -> None:
    async with service_and_proxy() as (service, wire):
        wire.arm(fault)
        assert await send_request(wire) == expected()
        assert len(service.received) == 1


@pytest.mark.parametrize(
    "fault",
    [proxy.dribbled(7, 0.001), proxy.slower(2.0), proxy.delayed(0.01)],
    ids=["dribbled", "slower", "held back"],
)
async def test_a_delayed_response_is_complete(fault: proxy.Fault) -> None:
    async with service_and_proxy() as (_, wire):
        wire.arm(fault)
        assert await send_request(wire) == ANSWER


async def test_a_duplicate_is_received_twice_and_answered_once() -> None:
    async with service_and_proxy() as (service, wire):
        wire.arm(proxy.duplicated)
        assert await send_request(wire) == ANSWER
        assert len(service.received) == 2


async def test_a_delayed_call_arrives_after_the_client_has_given_up() -> None:
    async with service_and_proxy() as (service, wire):
        wire.arm(proxy.delivered_late(0.02))
        with pytest.raises(ConnectionResetError):
            await send_request(wire)
        assert not service.received
        await wire.wait_for_background()
        assert [message.raw for message in service.received] == [REQUEST]
        assert wire.late_statuses == [200]


async def test_a_delayed_duplicate_arrives_after_the_response() -> None:
    async with service_and_proxy() as (service, wire):
        wire.arm(proxy.delivered_again_late(0.02))
        assert await send_request(wire) == ANSWER
        assert len(service.received) == 1
        await wire.wait_for_background()
        assert len(service.received) == 2


async def test_a_fault_is_injected_the_given_number_of_times() -> None:
    async with service_and_proxy() as (_, wire):
        wire.arm(proxy.empty_response, times=2)
        assert [await send_request(wire) for _ in range(3)] == [b"", b"", ANSWER]
        assert wire.exhausted.is_set()
        assert wire.strikes == 2
        wire.arm(None)
        assert wire.strikes == 2


async def test_health_checks_get_no_faults() -> None:
    async with service_and_proxy() as (_, wire):
        wire.arm(proxy.empty_response)
        assert await send_request(wire, b"GET /readyz HTTP/1.1\r\n\r\n") == ANSWER


async def test_refused_connections_are_accepted_again_later() -> None:
    async with service_and_proxy() as (_, wire):
        await wire.refuse()
        with pytest.raises(ConnectionRefusedError):
            await send_request(wire)
        await wire.listen()
        assert await send_request(wire) == ANSWER


async def test_a_chunked_response_is_passed_unchanged() -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    reader = asyncio.StreamReader()
    reader.feed_data(raw + REQUEST)
    first, second = await read_message(reader), await read_message(reader)
    assert first is not None
    assert first.raw == raw
    assert second is not None
    assert second.target == "/tickets"


async def test_an_incomplete_message_is_an_error() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(REQUEST[:-1])
    reader.feed_eof()
    with pytest.raises(asyncio.IncompleteReadError):
        await read_message(reader)
