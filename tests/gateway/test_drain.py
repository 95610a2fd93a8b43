"""Shutdown of an in-process gateway: refused requests, answered requests, and the closing of sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from companyos_gateway.middleware import drain as drains
from companyos_gateway.middleware.drain import SERVICE_RESTART, DrainingSocket, DrainMiddleware, DrainState
from tests.gateway.conftest import NotesGateway, OpenGateway, http_client, problem
from tests.gateway.sockets import connected
from tests.gateway.transports import Held


class Closing:
    """A gateway that can be drained, and the transport to its service."""

    def __init__(self, gateway: NotesGateway, held: Held) -> None:
        self.drain = DrainState()
        self.app = DrainMiddleware(gateway.app, self.drain)
        self.gateway = NotesGateway(http_client(self.app), gateway.app, gateway.runtime, gateway.service)
        self.held = held


@pytest.fixture
async def closing(open_gateway: OpenGateway) -> AsyncIterator[Closing]:
    held = Held()
    async with open_gateway(wrap=held.wrap) as gateway:
        closing = Closing(gateway, held)
        yield closing
        closing.held.released.set()
        await closing.gateway.http.aclose()


async def _is_draining(draining: asyncio.Task[None]) -> bool:
    _, pending = await asyncio.wait([draining], timeout=2 * drains.MIN_DRAIN_S)
    return bool(pending)


async def test_while_draining_new_work_is_rejected_and_reads_are_answered(closing: Closing) -> None:
    episode_id = await closing.gateway.begin()
    await closing.drain.drain()
    for refused in (
        await closing.gateway.post_step(episode_id, "notes_list_notes"),
        await closing.gateway.http.post("/reset", json={}),
        await closing.gateway.http.post("/mcp", json={}),
    ):
        assert problem(refused) == (503, "shutting-down")
        assert int(refused.headers["Retry-After"]) > 0
    assert (await closing.gateway.state(episode_id))["step_count"] == 0
    assert (await closing.gateway.http.get("/livez")).status_code == 200


async def test_a_step_in_flight_is_answered_before_the_drain_ends(closing: Closing) -> None:
    episode_id = await closing.gateway.begin()
    closing.held.released.clear()
    step = asyncio.create_task(closing.gateway.step(episode_id, "notes_list_notes"))
    await closing.held.arrived.wait()
    draining = asyncio.create_task(closing.drain.drain())
    assert await _is_draining(draining)
    assert closing.drain.in_flight == 1
    closing.held.released.set()
    assert (await step)["observation"]["result"]
    await draining
    assert closing.drain.in_flight == 0


async def test_while_draining_an_idle_socket_closes_at_once_and_a_busy_one_after_its_response(closing: Closing) -> None:
    async with connected(closing.app) as idle, connected(closing.app) as busy:
        await idle.reset()
        await busy.reset(episode_id="busy")
        closing.held.released.clear()
        message = {"type": "step", "data": {"tool_name": "notes_list_notes", "arguments": {}}}
        await busy.send(message)
        await busy.send(message)
        await closing.held.arrived.wait()
        draining = asyncio.create_task(closing.drain.drain())
        assert (await idle.closed())[0] == SERVICE_RESTART
        assert busy.from_app.empty()
        closing.held.released.set()
        assert (await busy.answer())["data"]["observation"]["result"]
        assert (await busy.closed())[0] == SERVICE_RESTART
        await draining
    assert not closing.drain.sockets
    assert closing.gateway.runtime.engine().store.get("busy").step == 1


async def test_an_idle_socket_whose_client_does_not_read_does_not_delay_the_drain() -> None:
    async def hang(_message: object) -> None:
        await asyncio.Event().wait()

    async def connect() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    drain = DrainState()
    unread = DrainingSocket(drain, connect, hang)
    await unread.receive()
    drain.sockets.add(unread)
    await asyncio.wait_for(drain.drain(), 5)


async def test_a_socket_opened_while_draining_is_closed_with_a_service_restart(closing: Closing) -> None:
    await closing.drain.drain()
    async with connected(closing.app) as late:
        await late.send({"type": "reset"})
        assert (await late.closed())[0] == SERVICE_RESTART
    assert not len(closing.gateway.runtime.engine().store)


async def test_the_drain_ends_at_its_deadline(closing: Closing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drains, "DRAIN_DEADLINE_S", 0.3)
    episode_id = await closing.gateway.begin()
    closing.held.released.clear()
    step = asyncio.create_task(closing.gateway.step(episode_id, "notes_list_notes"))
    await closing.held.arrived.wait()
    await asyncio.wait_for(closing.drain.drain(), 5)
    assert not step.done()
    closing.held.released.set()
    await step


async def test_the_drain_waits_for_background_work(closing: Closing) -> None:
    done = asyncio.Event()
    draining = asyncio.create_task(closing.drain.drain(done.is_set))
    assert await _is_draining(draining)
    done.set()
    await asyncio.wait_for(draining, 1)
