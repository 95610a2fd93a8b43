"""Connection slots: how many there are, who has to go, what each is told, and that every one comes back."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from companyos_gateway.server import openenv_server, slots
from companyos_gateway.server.openenv_server import SlottedServer
from tests.gateway.conftest import Door, Open
from tests.gateway.sockets import connected

RPC = {"jsonrpc": "2.0", "id": 1}


def _server(door: Door) -> SlottedServer:
    server: SlottedServer = door.app.state.slots
    return server


async def _create(door: Door) -> dict[str, Any]:
    answer = await door.http.post("/mcp", json={**RPC, "method": "openenv/session/create"})
    body: dict[str, Any] = answer.json()
    return body


async def _session(door: Door) -> str:
    session_id: str = (await _create(door))["result"]["session_id"]
    return session_id


async def _lists(door: Door, session_id: str) -> bool:
    body = {**RPC, "method": "tools/list", "params": {"session_id": session_id}}
    return "result" in (await door.http.post("/mcp", json=body)).json()


async def test_a_slot_is_a_socket_and_comes_back_with_it(open_door: Open) -> None:
    async with open_door(max_connections=3, max_mcp_sessions=2) as door:
        server = _server(door)
        assert (server.slots_used(), server.slots_most()) == (0, 5)
        async with connected(door.app), connected(door.app, "/mcp"):
            assert server.slots_used() == 2
            await _session(door)
            assert server.slots_used() == 3
        assert server.slots_used() == 1


async def test_where_all_slots_are_taken_openenv_s_error_comes_before_1013(open_door: Open) -> None:
    async with open_door(max_connections=1) as door, connected(door.app) as first:
        await first.reset()
        async with connected(door.app) as second:
            answer = await second.answer()
            assert answer["type"] == "error"
            assert answer["data"] == {
                "message": "at-capacity: 1 connections are open.",
                "code": "CAPACITY_REACHED",
                "active_sessions": 1,
                "max_sessions": 1,
            }
            assert await second.closed() == (1013, "at-capacity")
        async with connected(door.app, "/mcp") as third:
            refused = (await third.answer())["error"]
            assert (refused["code"], refused["data"]) == (-32000, {"active_sessions": 1, "max_sessions": 1})
            assert (await third.closed())[0] == 1013
        assert (await first.step("notes_list_notes"))["data"]["observation"]["result"]
        assert _server(door).slots_used() == 1


async def test_a_slot_that_came_back_is_taken_again(open_door: Open) -> None:
    async with open_door(max_connections=1) as door:
        for _ in range(5):
            async with connected(door.app) as socket:
                await socket.reset()
        assert _server(door).slots_used() == 0


async def test_in_a_full_house_the_longest_idle_socket_goes_and_its_episode_can_be_continued(
    open_door: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_door(max_connections=2) as door, AsyncExitStack() as stack:
        old = await stack.enter_async_context(connected(door.app))
        await old.reset(episode_id="old")
        young = await stack.enter_async_context(connected(door.app))
        await young.reset(episode_id="young")
        await old.step("notes_list_notes")
        await stack.enter_async_context(connected(door.app))
        assert await young.closed() == (1013, "idle")
        assert (await old.step("notes_list_notes"))["data"]["observation"]["result"]
        assert _server(door).slots_used() == 2
        assert (await door.state("young"))["step_count"] == 0
        assert await door.step("young", "notes_list_notes")


async def test_a_socket_at_work_is_never_the_one_that_goes(open_door: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_door(max_connections=1) as door, connected(door.app) as busy:
        await busy.reset(episode_id="busy")
        episode = door.house.engine().store.get("busy")
        async with episode.call_lock():
            await busy.send({"type": "step", "data": {"tool_name": "notes_list_notes", "arguments": {}}})
            while not busy.to_app.empty():  # noqa: ASYNC110 - the app takes it in its own time
                await asyncio.sleep(0)
            async with connected(door.app) as other:
                assert (await other.answer())["data"]["code"] == "CAPACITY_REACHED"
        assert (await busy.answer())["data"]["observation"]["result"]


async def test_a_socket_that_was_idle_for_too_long_is_told_why(open_door: Open) -> None:
    async with open_door(idle_limit_s=1e-9) as door, connected(door.app) as socket:
        await socket.reset(episode_id="mine")
        await _server(door).reap()
        assert await socket.closed() == (1008, "idle for too long")
        assert _server(door).slots_used() == 0
        assert (await door.state("mine"))["step_count"] == 0


@pytest.mark.parametrize("jump_s", [1e9, -1e9])
async def test_a_wall_clock_that_jumps_ends_no_session_and_keeps_none(
    open_door: Open, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    async with open_door(idle_limit_s=60.0, mcp_idle_limit_s=60.0) as door, connected(door.app) as socket:
        session_id = await _session(door)
        await socket.reset()
        wall = time.time  # noqa: TID251 - the clock that jumps
        monkeypatch.setattr(time, "time", lambda: wall() + jump_s)
        await _server(door).reap()
        assert _server(door).slots_used() == 2
        assert (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        assert await _lists(door, session_id)
        assert _server(door)._reaper_task is None
        monotonic = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + 61.0)
        await _server(door).reap()
        assert (await socket.closed())[0] == 1008
        assert not await _lists(door, session_id)
        assert _server(door).slots_used() == 0


async def test_sessions_without_a_socket_take_no_slot_of_a_socket(open_door: Open) -> None:
    async with open_door(max_connections=1, max_mcp_sessions=2) as door:
        made = await asyncio.gather(*(_create(door) for _ in range(20)))
        assert sum("result" in answer for answer in made) == 2
        refused = next(answer["error"] for answer in made if answer.get("error"))
        assert (refused["code"], refused["data"]) == (-32000, {"active_sessions": 2, "max_sessions": 2})
        async with connected(door.app) as socket:
            await socket.reset()
        assert _server(door).slots_used() == 2


async def test_the_longest_idle_session_without_a_socket_makes_room(
    open_door: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openenv_server, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_door(max_mcp_sessions=2) as door:
        one, two = await _session(door), await _session(door)
        assert await _lists(door, one)
        three = await _session(door)
        assert [await _lists(door, session) for session in (one, two, three)] == [True, False, True]


async def test_a_session_that_a_socket_holds_is_nobody_s_room(open_door: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openenv_server, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_door(max_mcp_sessions=1, mcp_idle_limit_s=1e-9) as door:
        session_id = await _session(door)
        async with connected(door.app, query=f"session_id={session_id}") as socket:
            await socket.reset()
            assert "error" in await _create(door)
            await _server(door).reap()
            assert (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        await _server(door).reap()
        assert _server(door).slots_used() == 0


async def test_a_session_that_was_closed_leaves_its_slot_at_once(open_door: Open) -> None:
    async with open_door(max_mcp_sessions=1) as door:
        for _ in range(3):
            closing = {**RPC, "method": "openenv/session/close", "params": {"session_id": await _session(door)}}
            assert _server(door).slots_used() == 1
            assert (await door.http.post("/mcp", json=closing)).json()["result"]["closed"] is True
            assert _server(door).slots_used() == 0


async def test_a_socket_that_is_let_into_no_session_breaks_a_rule(door: Door) -> None:
    async with connected(door.app, query="session_id=nobody") as socket:
        answer = await socket.answer()
        assert (answer["type"], answer["data"]["code"]) == ("error", "SESSION_ERROR")
        assert (await socket.closed())[0] == 1008


async def test_a_socket_that_says_goodbye_is_closed_as_it_asked(door: Door) -> None:
    async with connected(door.app) as socket:
        await socket.send({"type": "close"})
        assert (await socket.closed())[0] == 1000
