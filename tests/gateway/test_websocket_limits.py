"""Connection slots: their number, evictions, close messages, and the return of every slot."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from companyos_gateway.api import openenv_server
from companyos_gateway.api.openenv_server import LimitedOpenEnvServer
from companyos_gateway.middleware import websocket_limits
from tests.gateway.conftest import NotesGateway, OpenGateway
from tests.gateway.sockets import connected

RPC = {"jsonrpc": "2.0", "id": 1}


def _server(gateway: NotesGateway) -> LimitedOpenEnvServer:
    server: LimitedOpenEnvServer = gateway.app.state.slots
    return server


async def _create(gateway: NotesGateway) -> dict[str, Any]:
    answer = await gateway.http.post("/mcp", json={**RPC, "method": "openenv/session/create"})
    body: dict[str, Any] = answer.json()
    return body


async def _session(gateway: NotesGateway) -> str:
    session_id: str = (await _create(gateway))["result"]["session_id"]
    return session_id


async def _lists(gateway: NotesGateway, session_id: str) -> bool:
    body = {**RPC, "method": "tools/list", "params": {"session_id": session_id}}
    return "result" in (await gateway.http.post("/mcp", json=body)).json()


async def test_a_socket_occupies_a_slot_until_it_closes(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_websockets=3, max_mcp_sessions=2) as gateway:
        server = _server(gateway)
        assert (server.slots_used(), server.slots_limit()) == (0, 5)
        async with connected(gateway.app), connected(gateway.app, "/mcp"):
            assert server.slots_used() == 2
            await _session(gateway)
            assert server.slots_used() == 3
        assert server.slots_used() == 1


async def test_without_a_free_slot_openenvs_error_precedes_the_close_with_1013(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_websockets=1) as gateway, connected(gateway.app) as first:
        await first.reset()
        async with connected(gateway.app) as second:
            answer = await second.answer()
            assert answer["type"] == "error"
            assert answer["data"] == {
                "message": "at-capacity: 1 connections are open.",
                "code": "CAPACITY_REACHED",
                "active_sessions": 1,
                "max_sessions": 1,
            }
            assert await second.closed() == (1013, "at-capacity")
        async with connected(gateway.app, "/mcp") as third:
            refused = (await third.answer())["error"]
            assert (refused["code"], refused["data"]) == (-32000, {"active_sessions": 1, "max_sessions": 1})
            assert (await third.closed())[0] == 1013
        assert (await first.step("notes_list_notes"))["data"]["observation"]["result"]
        assert _server(gateway).slots_used() == 1


async def test_a_full_gateway_closes_the_longest_idle_socket_and_its_episode_can_be_resumed(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_limits, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_gateway(max_websockets=2) as gateway, AsyncExitStack() as stack:
        old = await stack.enter_async_context(connected(gateway.app))
        await old.reset(episode_id="old")
        young = await stack.enter_async_context(connected(gateway.app))
        await young.reset(episode_id="young")
        await old.step("notes_list_notes")
        await stack.enter_async_context(connected(gateway.app))
        assert await young.closed() == (1013, "idle")
        assert (await old.step("notes_list_notes"))["data"]["observation"]["result"]
        assert _server(gateway).slots_used() == 2
        assert (await gateway.state("young"))["step_count"] == 0
        assert await gateway.step("young", "notes_list_notes")


async def test_a_busy_socket_is_never_closed_for_another(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_limits, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_gateway(max_websockets=1) as gateway, connected(gateway.app) as busy:
        await busy.reset(episode_id="busy")
        episode = gateway.runtime.engine().store.get("busy")
        async with episode.call_lock():
            await busy.send({"type": "step", "data": {"tool_name": "notes_list_notes", "arguments": {}}})
            while not episode.queued["calls"]:  # noqa: ASYNC110 - under load the rate limiter delays the message
                await asyncio.sleep(0)
            async with connected(gateway.app) as other:
                assert (await other.answer())["data"]["code"] == "CAPACITY_REACHED"
        assert (await busy.answer())["data"]["observation"]["result"]


async def test_an_idle_socket_is_closed_with_a_reason(open_gateway: OpenGateway) -> None:
    async with open_gateway(idle_limit_s=1e-9) as gateway, connected(gateway.app) as socket:
        await socket.reset(episode_id="mine")
        await _server(gateway).reap()
        assert await socket.closed() == (1008, "idle for too long")
        assert _server(gateway).slots_used() == 0
        assert (await gateway.state("mine"))["step_count"] == 0


@pytest.mark.parametrize("jump_s", [1e9, -1e9])
async def test_a_jump_of_the_wall_clock_neither_ends_nor_extends_sessions(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    async with open_gateway(idle_limit_s=60.0, mcp_idle_limit_s=60.0) as gateway, connected(gateway.app) as socket:
        session_id = await _session(gateway)
        await socket.reset()
        wall = time.time  # noqa: TID251 - the clock that jumps
        monkeypatch.setattr(time, "time", lambda: wall() + jump_s)
        await _server(gateway).reap()
        assert _server(gateway).slots_used() == 2
        assert (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        assert await _lists(gateway, session_id)
        assert _server(gateway)._reaper_task is None
        monotonic = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + 61.0)
        await _server(gateway).reap()
        assert (await socket.closed())[0] == 1008
        assert not await _lists(gateway, session_id)
        assert _server(gateway).slots_used() == 0


async def test_sessions_without_a_socket_do_not_occupy_slots_of_sockets(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_websockets=1, max_mcp_sessions=2) as gateway:
        made = await asyncio.gather(*(_create(gateway) for _ in range(20)))
        assert sum("result" in answer for answer in made) == 2
        refused = next(answer["error"] for answer in made if answer.get("error"))
        assert (refused["code"], refused["data"]) == (-32000, {"active_sessions": 2, "max_sessions": 2})
        async with connected(gateway.app) as socket:
            await socket.reset()
        assert _server(gateway).slots_used() == 2


async def test_the_longest_idle_session_without_a_socket_is_evicted(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openenv_server, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_gateway(max_mcp_sessions=2) as gateway:
        one, two = await _session(gateway), await _session(gateway)
        assert await _lists(gateway, one)
        three = await _session(gateway)
        assert [await _lists(gateway, session) for session in (one, two, three)] == [True, False, True]


async def test_a_session_with_a_socket_is_never_evicted(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openenv_server, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_gateway(max_mcp_sessions=1, mcp_idle_limit_s=1e-9) as gateway:
        session_id = await _session(gateway)
        async with connected(gateway.app, query=f"session_id={session_id}") as socket:
            await socket.reset()
            assert "error" in await _create(gateway)
            await _server(gateway).reap()
            assert (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        await _server(gateway).reap()
        assert _server(gateway).slots_used() == 0


async def test_a_closed_session_releases_its_slot_at_once(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_mcp_sessions=1) as gateway:
        for _ in range(3):
            closing = {**RPC, "method": "openenv/session/close", "params": {"session_id": await _session(gateway)}}
            assert _server(gateway).slots_used() == 1
            assert (await gateway.http.post("/mcp", json=closing)).json()["result"]["closed"] is True
            assert _server(gateway).slots_used() == 0


async def test_a_socket_for_an_unknown_session_is_closed_as_a_policy_violation(gateway: NotesGateway) -> None:
    async with connected(gateway.app, query="session_id=nobody") as socket:
        answer = await socket.answer()
        assert (answer["type"], answer["data"]["code"]) == ("error", "SESSION_ERROR")
        assert (await socket.closed())[0] == 1008
