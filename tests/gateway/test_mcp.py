"""MCP over streamable HTTP: an episode's tools, calls as steps, and errors that keep the session open."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from fastmcp.client.client import CallToolResult
from mcp.shared.exceptions import McpError

from tests.gateway.conftest import TRAINER, NotesGateway, OpenGateway
from tests.gateway.mcp_clients import McpClient, mcp_client
from tests.gateway.notes import NoteKeeping
from tests.gateway.sockets import connected

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("notes_get_note", {"note_id": 99}),
    ("notes_get_note", {"note_id": "one"}),
    ("notes_get_note", {}),
    ("no_such_tool", {"note_id": 1}),
]
WRITE: dict[str, Any] = {"text": "a"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def _call(client: McpClient, name: str, **arguments: Any) -> CallToolResult:
    return await client.call_tool(name, arguments, raise_on_error=False)


def _text(result: CallToolResult) -> Any:
    (content,) = result.content
    return json.loads(content.text)  # type: ignore[union-attr]  # anything else fails


@pytest.mark.parametrize("toolset", ["all", "task"])
async def test_the_tools_are_identical_to_those_of_openenv(gateway: NotesGateway, toolset: str) -> None:
    await gateway.reset(episode_id="mine", toolset=toolset)
    listed = (await gateway.http.get("/v1/tools", params={"episode_id": "mine"})).json()
    async with mcp_client(gateway.app, episode="mine") as client:
        answer = await client.list_tools_mcp()
    described = {"name", "description", "inputSchema"}
    assert [tool.model_dump(include=described) for tool in answer.tools] == [
        {"name": tool["name"], "description": tool["description"], "inputSchema": tool["input_schema"]}
        for tool in listed
    ]


async def test_tools_have_hints_about_their_effects(gateway: NotesGateway) -> None:
    async with mcp_client(gateway.app) as client:
        listed = await client.list_tools()
    hints = {tool.name: tool.annotations for tool in listed}
    assert all(tool.outputSchema is not None and tool.outputSchema["required"] == ["result"] for tool in listed)
    found = {
        name: (one.readOnlyHint, one.destructiveHint, one.idempotentHint, one.openWorldHint)
        for name, one in hints.items()
        if one is not None
    }
    assert found["notes_get_note"] == (True, False, True, False)
    assert found["notes_write_note"] == (False, False, False, False)
    assert found["wait"] == found["finish"] == (False, False, False, False)


async def test_the_server_announces_only_tools(gateway: NotesGateway) -> None:
    async with mcp_client(gateway.app) as client:
        initialized = client.initialize_result
    assert initialized is not None
    capabilities = initialized.capabilities
    assert capabilities.tools is not None
    assert (capabilities.prompts, capabilities.resources) == (None, None)


async def test_a_call_over_mcp_is_a_step_of_the_same_episode_as_over_other_routes(gateway: NotesGateway) -> None:
    async with connected(gateway.app) as socket:
        await socket.reset(episode_id="mine")
        await socket.step("notes_list_notes")
        by_socket = (await socket.step("notes_get_note", note_id=1))["data"]
        async with mcp_client(gateway.app, episode="mine") as client:
            result = await _call(client, "notes_get_note", note_id=1)
        assert not result.is_error
        assert result.structured_content == _text(result)
        observed = by_socket["observation"]
        assert result.structured_content is not None
        assert result.structured_content["result"] == observed["result"]
        assert result.structured_content["steps_left"] == observed["steps_left"] - 1
        assert result.structured_content["now"] > observed["now"]
        assert result.structured_content["done"] is False
        assert result.meta == {"step": 3, "reward": by_socket["reward"]}
        await gateway.step("mine", "wait", minutes=1)
        assert (await socket.state())["step_count"] == 4


async def test_a_failed_call_is_a_step_with_the_same_reward_as_over_other_routes(gateway: NotesGateway) -> None:
    for name in ("here", "there"):
        await gateway.reset(episode_id=name)
    async with mcp_client(gateway.app, episode="here") as client:
        for number, (tool, arguments) in enumerate(WRONG, start=1):
            observed = await gateway.step("there", tool, **arguments)
            result = await _call(client, tool, **arguments)
            assert result.is_error
            assert result.meta == {"step": number, "reward": observed["reward"]}
            assert _text(result)["result"] == observed["observation"]["result"]
            assert _text(result).get("error") == observed["observation"]["error"]
        assert not (await _call(client, "notes_list_notes")).is_error
    assert (await gateway.state("here"))["step_count"] == len(WRONG) + 1


async def test_a_call_after_the_end_is_rejected_and_takes_no_step(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="mine")
    async with mcp_client(gateway.app, episode="mine") as client:
        ended = await _call(client, "finish", outcome="done", summary="Looked around.")
        assert ended.structured_content is not None
        assert ended.structured_content["done"] is True
        late = await _call(client, "notes_list_notes")
    assert (late.is_error, late.meta) == (True, None)
    assert (
        _text(late)["error"]["message"] == "episode-done: The episode has ended; no further actions are executed."
    )  # without the outcome
    assert (await gateway.state("mine"))["step_count"] == 1


async def test_concurrent_calls_are_queued_and_rejected_once_the_queue_is_full(open_gateway: OpenGateway) -> None:
    async with open_gateway(NoteKeeping(max_steps=100)) as gateway:
        await gateway.reset(episode_id="mine")
        async with mcp_client(gateway.app, episode="mine") as client:
            results = await asyncio.gather(*(_call(client, "wait", minutes=1) for _ in range(20)))
            last = await _call(client, "wait", minutes=1)
    refused = [result for result in results if result.is_error]
    assert all(_text(result)["error"]["message"].startswith("too-many-waiting: ") for result in refused)
    steps = sorted(result.meta["step"] for result in (*results, last) if result.meta)
    assert steps == list(range(1, 22 - len(refused)))


async def test_without_an_episode_tools_are_listed_but_cannot_be_called(gateway: NotesGateway) -> None:
    async with mcp_client(gateway.app) as client:
        for _ in range(2):
            with pytest.raises(McpError, match="no-episode") as refused:
                await _call(client, "notes_list_notes")
            assert refused.value.error.data == {
                "type": "about:blank",
                "title": "Episode id required",
                "status": 422,
                "code": "no-episode",
                "detail": "Pass the episode in the path or in the header X-CompanyOS-Episode.",
            }
            assert len(await client.list_tools()) == len(gateway.runtime.engine().toolbox)


@pytest.mark.parametrize("path", ["/v1/mcp", "/v1/episodes/nobodys/mcp"])
async def test_an_unknown_episode_is_rejected_at_the_handshake(gateway: NotesGateway, path: str) -> None:
    with pytest.raises(McpError, match="unknown-episode: No live episode has the id 'nobodys'"):
        async with mcp_client(gateway.app, path, episode="nobodys"):
            pass


async def test_dropping_an_episode_does_not_end_the_session(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="mine")
    async with mcp_client(gateway.app, "/v1/episodes/mine/mcp") as client:
        await _call(client, "notes_list_notes")
        await gateway.http.delete("/v1/episodes/mine")
        with pytest.raises(McpError, match="unknown-episode"):
            await _call(client, "notes_list_notes")
        await gateway.reset(episode_id="mine")
        assert (await _call(client, "notes_list_notes")).meta == {"step": 1, "reward": -0.1}


@pytest.mark.parametrize("base", ["/v1/mcp", "/v1/episodes/mine/mcp"])
async def test_each_service_has_a_separate_mcp_server(gateway: NotesGateway, base: str) -> None:
    await gateway.reset(episode_id="mine")
    served: list[str] = []
    for server in ("notes", "gateway"):
        async with mcp_client(gateway.app, f"{base}/{server}", episode="mine") as client:
            served += [tool.name for tool in await client.list_tools()]
            if server == "notes":
                assert (await _call(client, "notes_list_notes")).meta == {"step": 1, "reward": -0.1}
                elsewhere = await _call(client, "wait", minutes=1)
    assert served == [tool.name for tool in gateway.runtime.engine().toolbox]
    assert (elsewhere.is_error, elsewhere.meta) == (True, None)
    assert _text(elsewhere)["error"]["message"] == "tool-not-on-server: The server notes has no tool wait."
    assert (await gateway.state("mine"))["step_count"] == 1


async def test_an_unknown_server_is_rejected_with_the_accepted_names(gateway: NotesGateway) -> None:
    with pytest.raises(McpError, match="unknown-service: server must be one of notes, gateway"):
        async with mcp_client(gateway.app, "/v1/mcp/nobody"):
            pass


async def test_an_episode_token_selects_its_episode_and_grants_access_to_no_other(locked: NotesGateway) -> None:
    token = (await locked.reset(episode_id="mine"))["token"]
    await locked.reset(episode_id="theirs")
    for path in ("/v1/mcp", "/v1/mcp/notes", "/v1/episodes/mine/mcp", "/v1/episodes/mine/mcp/notes"):
        async with mcp_client(locked.app, path, token=token) as agent:
            assert not (await _call(agent, "notes_list_notes")).is_error
    for path, episode in (("/v1/mcp", "theirs"), ("/v1/episodes/theirs/mcp", None)):
        with pytest.raises(McpError, match=r"unknown-episode: No live episode has this id\."):
            async with mcp_client(locked.app, path, episode=episode, token=token):
                pass
    async with mcp_client(locked.app, episode="theirs", token=TRAINER) as trainer:
        assert (await _call(trainer, "notes_list_notes")).meta == {"step": 1, "reward": -0.1}
    assert (await locked.state("mine"))["step_count"] == 4


async def test_openenv_sessions_cannot_be_created_at_the_episode_route(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="mine")
    request = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}
    answer = await gateway.http.post("/v1/episodes/mine/mcp", json=request, headers=HEADERS)
    assert "error" in answer.json()
    assert gateway.app.state.slots.slots_used() == 0


async def test_an_invalid_request_gets_an_error_with_its_id(gateway: NotesGateway) -> None:
    for params, code in (
        ('{"name":"wait","arguments":[]}', "invalid-params"),
        ('{"name":7}', "invalid-params"),
        ('{"a":1,"a":2}', "duplicate-key"),
        ('{"a":NaN}', "not-finite"),
        ('{"a":99999999999999999999}', "integer-too-large"),
        ('{"a":' * 33 + "1" + "}" * 33, "json-too-deep"),
    ):
        sent = f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'
        answer = await gateway.http.post("/v1/mcp", content=sent, headers=HEADERS)
        assert answer.status_code == 200
        assert answer.json()["id"] == 7
        assert answer.json()["error"]["message"].startswith(f"{code}: ")


async def test_a_body_that_is_not_a_request_gets_an_error_without_an_id(gateway: NotesGateway) -> None:
    for sent in (b"[]", b"null", b"{", b"[" * 60_000, b"\xff", b'{"a":"' + b"x" * 65_536 + b'"}'):
        answer = await gateway.http.post("/v1/mcp", content=sent, headers=HEADERS)
        assert answer.status_code in {400, 413, 422}
        assert (answer.json()["id"], answer.json()["error"]["code"]) == (None, -32700)


@pytest.mark.parametrize("path", ["/v1/mcp", "/v1/mcp/notes", "/v1/episodes/mine/mcp"])
@pytest.mark.parametrize("sent_id", ['"\\ud800"', "true", "1.5"])
async def test_a_body_error_echoes_no_id_that_is_invalid(gateway: NotesGateway, path: str, sent_id: str) -> None:
    await gateway.reset(episode_id="mine")
    sent = f'{{"jsonrpc":"2.0","id":{sent_id},"method":"ping","method":"\\ud800"}}'
    answer = await gateway.http.post(path, content=sent, headers=HEADERS)
    assert answer.status_code == 422
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (None, -32700)


@pytest.mark.parametrize("sent_id", [1.5, None, True, [], {}])
async def test_a_request_whose_id_is_neither_text_nor_a_whole_number_is_rejected(
    gateway: NotesGateway, sent_id: Any
) -> None:
    await gateway.reset(episode_id="mine")
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "notes_write_note", "arguments": WRITE}}
    answer = await gateway.http.post("/v1/episodes/mine/mcp", json={**call, "id": sent_id}, headers=HEADERS)
    assert (answer.status_code, answer.json()["id"], answer.json()["error"]["code"]) == (200, None, -32600)
    assert answer.json()["error"]["message"] == "invalid-request: id must be a string or an integer."
    assert (await gateway.state("mine"))["step_count"] == 0


@pytest.mark.parametrize("params", [{}, {"params": {}}, {"params": {"uri": "http://a"}}])
async def test_a_method_that_is_not_supported_is_named(gateway: NotesGateway, params: dict[str, Any]) -> None:
    for method in ("none", "resources/list", "resources/subscribe", "completion/complete"):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, **params}
        error = (await gateway.http.post("/v1/mcp", json=request, headers=HEADERS)).json()["error"]
        accepted = "initialize, logging/setLevel, ping, tools/call, tools/list"
        assert error == {
            "code": -32601,
            "message": f'method-not-found: method must be one of {accepted}; got "{method}".',
        }


async def test_a_notification_has_no_id_and_is_accepted(gateway: NotesGateway) -> None:
    sent = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await gateway.http.post("/v1/mcp", json=sent, headers=HEADERS)).status_code == 202


@pytest.mark.parametrize("content", [{"result": {}}, {"error": {"code": -32603, "message": "No."}}])
async def test_a_response_is_accepted_and_ignored(
    open_gateway: OpenGateway, caplog: pytest.LogCaptureFixture, content: dict[str, Any]
) -> None:
    async with open_gateway() as gateway:
        sent = {"jsonrpc": "2.0", "id": 1, **content}
        answer = await gateway.http.post("/v1/mcp", json=sent, headers=HEADERS)
        assert (answer.status_code, answer.content) == (202, b"")
        sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert (await gateway.http.post("/v1/mcp", json=sent, headers=HEADERS)).json()["result"]
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_sessions_and_streams_are_not_supported(gateway: NotesGateway) -> None:
    for method in ("GET", "DELETE", "PUT"):
        answer = await gateway.http.request(method, "/v1/mcp", headers=HEADERS)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_a_request_without_a_session_is_enough_for_a_step(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="mine")
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "notes_write_note", "arguments": WRITE}}
    for number in (1, 2):
        answer = await gateway.http.post("/v1/episodes/mine/mcp", json={**call, "id": number}, headers=HEADERS)
        assert answer.headers["content-type"].startswith("application/json")
        assert "mcp-session-id" not in answer.headers
        assert answer.json()["result"]["_meta"]["step"] == number


async def test_production_has_the_same_tools(open_gateway: OpenGateway) -> None:
    options: dict[str, Any] = {"mode": "production", "keep_episode": "main", "names": ("vendor_onboarding",)}
    async with open_gateway(**options) as gateway, mcp_client(gateway.app, episode="main") as client:
        assert len(await client.list_tools()) == len(gateway.runtime.engine().toolbox)
        assert (await _call(client, "notes_list_notes")).meta == {"step": 1, "reward": -0.1}
