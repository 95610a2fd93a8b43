"""The OpenEnv WebSocket: sessions survive any message."""

from __future__ import annotations

from typing import Any

import pytest
from uvicorn.protocols.utils import ClientDisconnected

from companyos_gateway.engine import store
from companyos_gateway.engine.store import EpisodeStore
from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.sockets import connected

WRONG_SHAPES = [
    ('{"type": "step"}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": null}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": []}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"type": "no_such_action"}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"tool_name": 5, "arguments": {}}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"tool_name": "wait", "arguments": []}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"tool_name": "wait", "arguments": {}, "colour": "red"}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": []}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"split": "train"}}', "EXECUTION_ERROR"),
    ('{"type": "reset", "data": {"resume": "a", "injected_state": {"snapshot": "b"}}}', "EXECUTION_ERROR"),
    ('{"type": "state", "data": {}}', "VALIDATION_ERROR"),
    ('{"type": "close", "data": {}}', "VALIDATION_ERROR"),
    ('{"type": "mcp"}', "VALIDATION_ERROR"),
    ('{"type": "mcp", "data": []}', "VALIDATION_ERROR"),
    ('{"type": "no_such_type"}', "UNKNOWN_TYPE"),
    ('{"type": {}}', "UNKNOWN_TYPE"),
    ("{}", "UNKNOWN_TYPE"),
]


async def test_an_episode_can_be_played_over_the_socket(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        first = await socket.reset(episode_id="mine")
        assert first["data"]["observation"]["brief"] == "Do notes 1 and 2."
        answer = await socket.step("notes_finish_note", note_id=1)
        assert answer["data"]["reward"] == 1.9
        assert answer["data"]["observation"]["result"]["id"] == 1
        assert "data" not in answer["data"]["observation"]
        assert (await socket.step("notes_finish_note", note_id=2))["data"]["done"] is True
        state = await socket.state()
        assert (state["episode_id"], state["step_count"], state["return"]) == ("mine", 2, 16.8)


async def test_listing_tools_without_a_reset_is_not_a_step(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        listed = await socket.exchange({"type": "step", "data": {"type": "list_tools"}})
        names = [tool["name"] for tool in listed["data"]["observation"]["tools"]]
        assert names[-2:] == ["wait", "finish"]
        assert (await socket.state())["step_count"] == 0


async def test_messages_of_a_wrong_shape_are_not_steps_and_the_session_continues(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset(episode_id="live")
        before = await gateway.standing("live")
        for message, code in WRONG_SHAPES:
            answer = await socket.exchange(message)
            assert (answer["type"], answer["data"].get("code")) == ("error", code), message
        untyped = await socket.exchange({"type": "step", "data": {"type": [], "tool_name": "wait"}})
        assert untyped["data"]["message"].startswith("invalid-action")
        assert await gateway.standing("live") == before
        assert (await socket.state())["step_count"] == 0
        assert (await socket.step("notes_list_notes"))["data"]["reward"] == -0.1


@pytest.mark.parametrize("error", [ClientDisconnected(), RuntimeError("Unexpected ASGI message")], ids=repr)
@pytest.mark.parametrize(
    ("path", "message"),
    [("/ws", {"type": "state"}), ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})],
)
async def test_a_client_may_disconnect_during_a_call(
    gateway: NotesGateway, path: str, message: dict[str, Any], error: Exception
) -> None:
    async with connected(gateway.app, path) as socket:
        socket.send_error = error
        await socket.send(message)


async def test_no_message_is_answered_after_the_close(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset()
        await socket.send({"type": "close"})
        assert await socket.closed() == (1000, "")


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "options",
    [
        {"seed": -7},
        {"seed": "abc"},
        {"seed": True},
        {"colour": "red"},
        {"self": 1},
        {"chaos": 9},
        {"episode_id": "a b"},
    ],
    ids=str,
)
async def test_an_invalid_reset_does_not_change_the_running_episode(
    gateway: NotesGateway, options: dict[str, Any]
) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset()
        await socket.step("notes_write_note", text="a")
        answer = await socket.reset(**options)
        assert answer["type"] == "error"
        assert answer["data"]["message"].startswith("invalid-reset")
        assert (await socket.state())["step_count"] == 1


async def test_an_unknown_chaos_override_is_rejected(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        answer = await socket.reset(chaos_overrides={"rain": 0.5})
        assert answer["data"]["message"].startswith("invalid-reset: chaos_overrides")


async def test_a_step_before_the_reset_is_an_execution_error(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        answer = await socket.step("wait", minutes=1)
        assert answer["data"]["code"] == "EXECUTION_ERROR"
        assert answer["data"]["message"].startswith("not-reset")


async def test_a_step_after_the_end_is_an_execution_error(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset()
        await socket.step("finish", outcome="done", summary="No.")
        answer = await socket.step("wait", minutes=1)
        assert answer["data"]["message"].startswith("episode-done")


async def test_a_socket_may_reset_its_own_id_which_starts_the_next_epoch(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset(episode_id="mine")
        await socket.step("notes_write_note", text="a")
        await socket.reset(episode_id="mine")
        assert len((await socket.step("notes_list_notes"))["data"]["observation"]["result"]) == 2
        assert (await socket.state())["epoch"] == 2
        assert len(_store(gateway)) == 1


async def test_an_id_that_is_live_in_another_session_is_rejected(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as one, connected(gateway.app) as other:
        await one.reset(episode_id="mine")
        answer = await other.reset(episode_id="mine")
        assert answer["data"]["message"].startswith("episode-exists")


async def test_the_socket_and_plain_http_share_one_episode(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset(episode_id="shared")
        await gateway.step("shared", "notes_write_note", text="over HTTP")
        listed = (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        assert listed[-1]["text"] == "over HTTP"


async def test_an_episode_outlives_its_socket_for_a_limited_time(open_gateway: OpenGateway) -> None:
    async with open_gateway(detached_limit_s=1e-9) as gateway:
        async with connected(gateway.app) as socket:
            await socket.reset(episode_id="mine")
            await socket.step("notes_list_notes")
            assert _store(gateway).reap() == 0
        assert (await gateway.state("mine"))["step_count"] == 1
        assert _store(gateway).reap() == 1
        await _store(gateway).aclose()
        assert (await gateway.http.get("/state", params={"episode_id": "mine"})).status_code == 404
        assert gateway.service.state.episodes.open_count == 0


async def test_an_idle_episode_is_freed(open_gateway: OpenGateway) -> None:
    async with open_gateway(idle_limit_s=1e-9) as gateway:
        await gateway.reset(episode_id="idle")
        assert _store(gateway).reap() == 1
        assert (await gateway.post_step("idle", "wait", minutes=1)).json()["code"] == "unknown-episode"
        assert _store(gateway).outcomes == {"closed": 1}


async def test_a_full_gateway_rejects_connections(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_episodes=1) as gateway:
        await gateway.reset()
        answer = await gateway.http.post("/reset", json={"scenario": "note_keeping"})
        assert problem(answer) == (503, "at-capacity")
        assert answer.headers["retry-after"]


async def test_an_ended_episode_frees_its_place_and_its_id(open_gateway: OpenGateway) -> None:
    async with open_gateway(max_episodes=1) as gateway:
        for _ in range(3):
            episode = await gateway.begin(episode_id="again")
            await gateway.step(episode, "finish", outcome="done", summary="No.")
        assert len(_store(gateway)) == 1


async def test_a_full_gateway_evicts_the_longest_idle_episode(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_gateway(max_episodes=2) as gateway:
        for name in ("one", "two"):
            await gateway.reset(episode_id=name)
        await gateway.step("one", "wait", minutes=1)
        await gateway.reset(episode_id="three")
        assert (await gateway.http.get("/state", params={"episode_id": "two"})).status_code == 404
        assert (await gateway.state("one"))["step_count"] == 1


async def test_mcp_messages_have_the_payload_under_data(gateway: NotesGateway) -> None:
    async with connected(gateway.app, "/mcp") as socket:
        listed = await socket.exchange({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert listed["result"]["tools"]
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
        assert (await socket.exchange(call))["error"]["message"].startswith("not-reset")
        assert (await socket.exchange("[]"))["error"]["code"] == -32700


async def test_mcp_and_the_socket_share_a_session(gateway: NotesGateway) -> None:
    rpc = {"jsonrpc": "2.0", "id": 1}
    created = await gateway.http.post("/mcp", json={**rpc, "method": "openenv/session/create"})
    session = created.json()["result"]["session_id"]
    async with connected(gateway.app, query=f"session_id={session}") as socket:
        await socket.reset()
        params = {"name": "notes_get_note", "arguments": {"note_id": 1}, "session_id": session}
        called = (await gateway.http.post("/mcp", json={**rpc, "method": "tools/call", "params": params})).json()[
            "result"
        ]
        assert called["data"] == called["result"]
        assert called["data"]["text"] == "water the plants"
        assert (await socket.state())["step_count"] == 1


@pytest.mark.parametrize("session_id", [{}, [], 7, True])
async def test_a_session_id_that_is_not_a_string_is_rejected(gateway: NotesGateway, session_id: object) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"session_id": session_id}}
    answer = await gateway.http.post("/mcp", json=request)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32602)
    async with connected(gateway.app, "/mcp") as socket:
        assert (await socket.exchange(request))["error"]["code"] == -32602
    async with connected(gateway.app) as socket:
        carried = await socket.exchange({"type": "mcp", "data": request})
        assert (carried["type"], carried["data"]["error"]["code"]) == ("mcp", -32602)


def _store(gateway: NotesGateway) -> EpisodeStore:
    return gateway.runtime.engine().store
