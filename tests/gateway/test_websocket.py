"""The OpenEnv WebSocket: sessions that live on whatever they are sent."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.engine import store
from companyos_gateway.engine.store import EpisodeStore
from tests.gateway.conftest import Door, Open
from tests.gateway.sockets import connected

BAD_MESSAGES = [
    ("[]", "not-an-object"),
    ("null", "not-an-object"),
    ("{", "malformed-json"),
    ('{"type": "reset", "data": {"seed": NaN}}', "not-finite"),
    ('{"type": "reset", "type": "state"}', "duplicate-key"),
    ('{"type": "reset", "data": {"seed": 9007199254740993}}', "integer-too-large"),
    ('{"type": "reset", "data": {"episode_id": "\\ud800"}}', "lone-surrogate"),
    ('{"type": ' + "[" * 100_000, "body-too-large"),
    ('{"type": ' + "[" * 10_000, "json-too-deep"),
    ('{"type": "' + "x" * 70_000 + '"}', "body-too-large"),
    (b'{"type": "state"}', "not-text"),
    ('{"type": "step", "data": {"type": [], "tool_name": "wait"}}', "invalid-action"),
]

WRONG_SHAPES = [
    ('{"type": "step"}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": null}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"type": "no_such_action"}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"tool_name": 5, "arguments": {}}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"tool_name": "wait", "arguments": []}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"tool_name": "wait", "arguments": {}, "colour": "red"}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": []}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"split": "train"}}', "EXECUTION_ERROR"),
    ('{"type": "reset", "data": {"resume": "a", "injected_state": {"snapshot": "b"}}}', "EXECUTION_ERROR"),
    ('{"type": "state", "data": {}}', "VALIDATION_ERROR"),
    ('{"type": "close", "data": {}}', "VALIDATION_ERROR"),
    ('{"type": "mcp", "data": []}', "VALIDATION_ERROR"),
    ('{"type": "no_such_type"}', "UNKNOWN_TYPE"),
    ('{"type": {}}', "UNKNOWN_TYPE"),
    ("{}", "UNKNOWN_TYPE"),
]


async def test_an_episode_over_the_socket(door: Door) -> None:
    async with connected(door.app) as socket:
        first = await socket.reset(episode_id="mine")
        assert first["data"]["observation"]["brief"] == "Do notes 1 and 2."
        answer = await socket.step("notes_finish_note", note_id=1)
        assert answer["data"]["reward"] == 1.9
        assert answer["data"]["observation"]["result"]["id"] == 1
        assert "data" not in answer["data"]["observation"]
        assert (await socket.step("notes_finish_note", note_id=2))["data"]["done"] is True
        state = await socket.state()
        assert (state["episode_id"], state["step_count"], state["return"]) == ("mine", 2, 16.8)


async def test_tools_are_listed_without_a_reset_and_are_no_step(door: Door) -> None:
    async with connected(door.app) as socket:
        listed = await socket.ask({"type": "step", "data": {"type": "list_tools"}})
        names = [tool["name"] for tool in listed["data"]["observation"]["tools"]]
        assert names[-2:] == ["wait", "finish"]
        assert (await socket.state())["step_count"] == 0


@pytest.mark.parametrize(("message", "code"), BAD_MESSAGES, ids=[code for _, code in BAD_MESSAGES])
async def test_a_bad_message_is_answered_and_the_session_lives_on(door: Door, message: Any, code: str) -> None:
    async with connected(door.app) as socket:
        await socket.reset()
        answer = await socket.ask(message)
        assert answer["type"] == "error"
        assert answer["data"]["message"].startswith(code)
        assert (await socket.step("notes_list_notes"))["data"]["observation"]["result"]


async def test_messages_of_a_wrong_shape_are_no_steps_and_the_session_lives_on(door: Door) -> None:
    async with connected(door.app) as socket:
        await socket.reset()
        for message, code in WRONG_SHAPES:
            answer = await socket.ask(message)
            assert (answer["type"], answer["data"].get("code")) == ("error", code), message
        assert (await socket.state())["step_count"] == 0
        assert (await socket.step("notes_list_notes"))["data"]["reward"] == -0.1


async def test_after_the_close_nothing_is_answered_any_more(door: Door) -> None:
    async with connected(door.app) as socket:
        await socket.reset()
        await socket.send({"type": "close"})
        assert await socket.closed() == (1000, "")


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
async def test_a_reset_that_does_not_fit_leaves_the_running_episode_alone(door: Door, options: dict[str, Any]) -> None:
    async with connected(door.app) as socket:
        await socket.reset()
        await socket.step("notes_write_note", text="a")
        answer = await socket.reset(**options)
        assert answer["type"] == "error"
        assert answer["data"]["message"].startswith("invalid-reset")
        assert (await socket.state())["step_count"] == 1


async def test_an_override_that_no_profile_knows_is_refused(door: Door) -> None:
    async with connected(door.app) as socket:
        answer = await socket.reset(chaos_overrides={"rain": 0.5})
        assert answer["data"]["message"].startswith("invalid-reset: chaos_overrides")


async def test_a_step_before_the_reset_is_an_execution_error(door: Door) -> None:
    async with connected(door.app) as socket:
        answer = await socket.step("wait", minutes=1)
        assert answer["data"]["code"] == "EXECUTION_ERROR"
        assert answer["data"]["message"].startswith("not-reset")


async def test_a_step_after_the_end_is_an_execution_error(door: Door) -> None:
    async with connected(door.app) as socket:
        await socket.reset()
        await socket.step("finish", outcome="done", summary="No.")
        answer = await socket.step("wait", minutes=1)
        assert answer["data"]["message"].startswith("episode-done")


async def test_the_same_socket_may_reset_its_own_id_and_moves_on_to_the_next_epoch(door: Door) -> None:
    async with connected(door.app) as socket:
        await socket.reset(episode_id="mine")
        await socket.step("notes_write_note", text="a")
        await socket.reset(episode_id="mine")
        assert len((await socket.step("notes_list_notes"))["data"]["observation"]["result"]) == 2
        assert (await socket.state())["epoch"] == 2
        assert len(_store(door)) == 1


async def test_an_id_that_is_live_elsewhere_is_taken(door: Door) -> None:
    async with connected(door.app) as one, connected(door.app) as other:
        await one.reset(episode_id="mine")
        answer = await other.reset(episode_id="mine")
        assert answer["data"]["message"].startswith("episode-exists")


async def test_the_socket_and_plain_http_share_one_episode(door: Door) -> None:
    async with connected(door.app) as socket:
        await socket.reset(episode_id="shared")
        await door.step("shared", "notes_write_note", text="over HTTP")
        listed = (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        assert listed[-1]["text"] == "over HTTP"


async def test_an_episode_outlives_its_socket_for_a_while_and_is_then_freed(open_door: Open) -> None:
    async with open_door(detached_limit_s=1e-9) as door:
        async with connected(door.app) as socket:
            await socket.reset(episode_id="mine")
            await socket.step("notes_list_notes")
            assert _store(door).reap() == 0
        assert (await door.state("mine"))["step_count"] == 1
        assert _store(door).reap() == 1
        await _store(door).aclose()
        assert (await door.http.get("/state", params={"episode_id": "mine"})).status_code == 404
        assert door.service.state.episodes.open_count == 0


async def test_an_idle_episode_is_freed(open_door: Open) -> None:
    async with open_door(idle_limit_s=1e-9) as door:
        await door.reset(episode_id="idle")
        assert _store(door).reap() == 1
        assert (await door.post_step("idle", "wait", minutes=1)).json()["code"] == "unknown-episode"
        assert _store(door).outcomes == {"closed": 1}


async def test_a_full_house_says_so(open_door: Open) -> None:
    async with open_door(max_episodes=1) as door:
        await door.reset()
        answer = await door.http.post("/reset", json={"scenario": "note_keeping"})
        assert (answer.status_code, answer.json()["code"]) == (503, "at-capacity")
        assert answer.headers["retry-after"]


async def test_an_episode_that_is_over_makes_room_and_leaves_its_id(open_door: Open) -> None:
    async with open_door(max_episodes=1) as door:
        for _ in range(3):
            episode = (await door.reset(episode_id="again"))["episode_id"]
            await door.step(episode, "finish", outcome="done", summary="No.")
        assert len(_store(door)) == 1


async def test_in_a_full_house_the_longest_idle_makes_room(open_door: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "IDLE_BEFORE_EVICTION_S", 0.0)
    async with open_door(max_episodes=2) as door:
        for name in ("one", "two"):
            await door.reset(episode_id=name)
        await door.step("one", "wait", minutes=1)
        await door.reset(episode_id="three")
        assert (await door.http.get("/state", params={"episode_id": "two"})).status_code == 404
        assert (await door.state("one"))["step_count"] == 1


async def test_mcp_reads_the_payload_under_data(door: Door) -> None:
    async with connected(door.app, "/mcp") as socket:
        listed = await socket.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert listed["result"]["tools"]
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
        assert (await socket.ask(call))["error"]["message"].startswith("not-reset")
        assert (await socket.ask("[]"))["error"]["code"] == -32700


async def test_mcp_and_the_socket_share_a_session(door: Door) -> None:
    rpc = {"jsonrpc": "2.0", "id": 1}
    created = await door.http.post("/mcp", json={**rpc, "method": "openenv/session/create"})
    session = created.json()["result"]["session_id"]
    async with connected(door.app, query=f"session_id={session}") as socket:
        await socket.reset()
        params = {"name": "notes_get_note", "arguments": {"note_id": 1}, "session_id": session}
        called = (await door.http.post("/mcp", json={**rpc, "method": "tools/call", "params": params})).json()["result"]
        assert called["data"] == called["result"]
        assert called["data"]["text"] == "water the plants"
        assert (await socket.state())["step_count"] == 1


@pytest.mark.parametrize("session_id", [{}, [], 7, True])
async def test_a_session_id_that_is_no_text_is_refused(door: Door, session_id: object) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"session_id": session_id}}
    answer = await door.http.post("/mcp", json=asked)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32602)
    async with connected(door.app, "/mcp") as socket:
        assert (await socket.ask(asked))["error"]["code"] == -32602
    async with connected(door.app) as socket:
        carried = await socket.ask({"type": "mcp", "data": asked})
        assert (carried["type"], carried["data"]["error"]["code"]) == ("mcp", -32602)


def _store(door: Door) -> EpisodeStore:
    return door.house.engine().store
