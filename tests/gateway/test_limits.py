"""Input limits of every route: a clear code, an unchanged episode, a usable session.

One table contains messages and expected codes. Each message is sent to every plain HTTP route, to the WebSocket and to
`/mcp` over both. If a limit concerns the arguments of a call, the response is a step with its cost, and there are no
other consequences.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message

from companyos_gateway.middleware import body_limit
from tests.gateway.conftest import NotesGateway, problem
from tests.gateway.sockets import Socket, connected

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_INTEGER = 2**53

BEYOND: dict[str, tuple[str | bytes, str]] = {
    "empty list": ("[]", "not-an-object"),
    "half an object": ("{", "malformed-json"),
    "byte order mark": ("\ufeff{}", "malformed-json"),
    "NaN": ('{"a": NaN}', "not-finite"),
    "duplicate key": ('{"a": 1, "a": 1}', "duplicate-key"),
    "integer beyond 2^53": (f'{{"a": {MAX_INTEGER + 1}}}', "integer-too-large"),
    "lone surrogate": ('{"a": "\\ud800"}', "lone-surrogate"),
    "one level too deep": ('{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", "json-too-deep"),
    "one byte too many": ('{"a": "' + "x" * (MAX_BYTES - 8) + '"}', "body-too-large"),
    "one byte too many in two-byte letters": ('{"a": "' + "é" * (MAX_BYTES // 2 - 3) + '"}', "body-too-large"),
}
"""An example of each reason for which every route rejects a message before parsing its content.

`tests/shared/test_strict_json.py` has others.
"""

OVER_HTTP = BEYOND | {"packed": (b"\x1f\x8b\x08\x00", "malformed-json")}
OVER_SOCKETS = BEYOND | {"a binary frame": (b"{}", "not-text")}

WITHIN = {
    "as deep as may be": '{"a":' + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + "}",
    "as large as may be": '{"a": "' + "x" * (MAX_BYTES - 9) + '"}',
    "the largest integer": f'{{"a": {MAX_INTEGER}}}',
    "a pair of surrogates": '{"a": "\\ud83d\\ude00"}',
    "many brackets in a string": '{"a": "' + "[" * 100 + '"}',
}

NO_ACTIONS: list[Any] = [
    None,
    [],
    "list",
    7,
    {},
    {"tool_name": 7},
    {"tool_name": "wait", "arguments": []},
    {"type": "x"},
]
UNKNOWN: list[tuple[dict[str, Any], int, str]] = [
    ({}, 422, "invalid-action"),
    ({"episode_id": "live"}, 422, "invalid-action"),
    ({"action": {"tool_name": "wait", "arguments": {}}}, 422, "invalid-action"),
    ({"episode_id": 7, "action": {}}, 422, "invalid-action"),
    ({"episode_id": "x" * 129, "action": {}}, 422, "invalid-action"),
    ({"episode_id": "live", "action": {}, "colour": 1}, 422, "invalid-action"),
    *[({"episode_id": "live", "action": action}, 422, "invalid-action") for action in NO_ACTIONS],
    ({"episode_id": "live", "action": {"tool_name": "wait", "arguments": {}}, "step": "1"}, 422, "invalid-action"),
    ({"episode_id": "live", "action": {"tool_name": "wait", "arguments": {}}, "step": 0}, 422, "invalid-action"),
    ({"episode_id": "live", "action": {"tool_name": "wait", "arguments": {}}, "step": 9}, 409, "step-conflict"),
    ({"episode_id": "nobody", "action": {"tool_name": "wait", "arguments": {}}}, 404, "unknown-episode"),
    ({"episode_id": "../live", "action": {"tool_name": "wait", "arguments": {}}}, 404, "unknown-episode"),
    ({"episode_id": "live\x00", "action": {"tool_name": "wait", "arguments": {}}}, 404, "unknown-episode"),
]

HTTP_ROUTES = (
    *("/reset", "/step", "/v1/episodes", "/v1/episodes/live/step", "/v1/episodes/live/restore"),
    *("/v1/demonstrations", "/companyos/tasks"),
)

Send = Callable[[str | bytes], Awaitable[str]]
"""Sends a message through one route and returns the response's code."""


def _coded(text: str) -> str:
    return text.partition(":")[0]


async def _code_of_socket(socket: Socket, message: str | bytes) -> str:
    answer = await socket.exchange(message)
    assert answer["type"] == "error", answer
    return _coded(answer["data"]["message"])


async def _code_of_mcp(socket: Socket, message: str | bytes) -> str:
    return _coded((await socket.exchange(message))["error"]["message"])


@pytest.mark.sample(5)
@pytest.mark.parametrize(("sent", "code"), OVER_HTTP.values(), ids=OVER_HTTP)
async def test_http_requests_over_a_limit_are_rejected_with_a_code(
    gateway: NotesGateway, sent: str | bytes, code: str
) -> None:
    await gateway.reset(episode_id="live")
    await gateway.step("live", "notes_write_note", text="a")
    before = await gateway.standing("live")
    for path in HTTP_ROUTES:
        content = sent if isinstance(sent, bytes) else sent.encode("utf-8", "surrogatepass")
        answer = await gateway.http.post(path, content=content)
        assert problem(answer) == (_status(code), code), path
    over_mcp = await gateway.http.post("/mcp", content=content)
    assert _coded(over_mcp.json()["error"]["message"]) == code
    assert await gateway.standing("live") == before
    assert (await gateway.step("live", "notes_list_notes"))["observation"]["result"]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("sent", "code"), OVER_SOCKETS.values(), ids=OVER_SOCKETS)
async def test_socket_messages_over_a_limit_are_rejected_and_the_session_continues(
    gateway: NotesGateway, sent: str | bytes, code: str
) -> None:
    async with connected(gateway.app) as socket, connected(gateway.app, "/mcp") as mcp:
        await socket.reset(episode_id="live")
        await socket.step("notes_write_note", text="a")
        before = await gateway.standing("live")
        assert await _code_of_socket(socket, sent) == code
        assert await _code_of_mcp(mcp, sent) == code
        assert await gateway.standing("live") == before
        assert (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        assert (await mcp.exchange({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))["result"]["tools"]


@pytest.mark.parametrize("sent", WITHIN.values(), ids=WITHIN)
async def test_a_message_at_the_limits_is_parsed(gateway: NotesGateway, sent: str) -> None:
    assert problem(await gateway.http.post("/reset", content=sent.encode())) == (422, "invalid-reset")
    async with connected(gateway.app) as socket:
        assert (await socket.exchange(sent))["data"]["code"] == "UNKNOWN_TYPE"


@pytest.mark.sample(3)
@pytest.mark.parametrize(("body", "status", "code"), UNKNOWN, ids=lambda value: json.dumps(value)[:60])
async def test_a_step_without_a_valid_episode_or_action_is_rejected(
    gateway: NotesGateway, body: dict[str, Any], status: int, code: str
) -> None:
    await gateway.reset(episode_id="live")
    before = await gateway.standing("live")
    assert problem(await gateway.http.post("/step", json=body)) == (status, code)
    assert await gateway.standing("live") == before


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("request_", "number"),
    [
        ({}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "tools/list"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/none"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["wait"]}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": 7}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"session_id": "nobody"}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"session_id": ["a"]}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "openenv/session/close", "params": {"session_id": "nobody"}}, -32602),
    ],
    ids=str,
)
async def test_an_mcp_request_of_unknown_shape_gets_an_error(
    gateway: NotesGateway, request_: dict[str, Any], number: int
) -> None:
    await gateway.reset(episode_id="live")
    before = await gateway.standing("live")
    answered = (await gateway.http.post("/mcp", json=request_)).json()["error"]["code"]
    assert answered == number
    assert await gateway.standing("live") == before
    assert (await gateway.http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).json()["result"]


async def test_a_slow_body_times_out(gateway: NotesGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limit, "BODY_DEADLINE_S", 0.05)
    await gateway.reset(episode_id="live")
    before = await gateway.standing("live")
    received = await _post(gateway, "/step", [b'{"episode_id": ', b'"live", '], last=None)
    assert (received[0]["status"], json.loads(received[1]["body"])["code"]) == (408, "body-too-slow")
    assert (b"connection", b"close") in received[0]["headers"]
    assert await gateway.standing("live") == before


@pytest.mark.parametrize("path", ["/reset", "/step"])
async def test_the_size_of_a_body_is_limited_while_it_is_read(gateway: NotesGateway, path: str) -> None:
    endless = [b" " * 1024] * 65
    received = await _post(gateway, path, endless, last=None)
    assert (received[0]["status"], json.loads(received[1]["body"])["code"]) == (413, "body-too-large")
    assert (b"connection", b"close") in received[0]["headers"]


async def test_a_client_that_disconnects_before_the_end_of_its_body_has_no_effect(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="live")
    before = await gateway.standing("live")
    whole = json.dumps({"episode_id": "live", "action": {"tool_name": "notes_list_notes", "arguments": {}}}).encode()
    assert await _post(gateway, "/step", [whole], last={"type": "http.disconnect"}) == []
    assert await gateway.standing("live") == before


def _status(code: str) -> int:
    return {"body-too-large": 413, "malformed-json": 400}.get(code, 422)


async def _post(gateway: NotesGateway, path: str, chunks: list[bytes], *, last: Message | None) -> list[Message]:
    """Send a body in chunks, then `last` if given, and return the messages of the response."""
    coming = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    received: list[Message] = []

    async def receive() -> Message:
        if coming:
            return coming.pop(0)
        if last is None:
            await asyncio.Event().wait()
        return last or {}

    async def send(message: Message) -> None:
        received.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": [], "extensions": {}}
    await asyncio.wait_for(gateway.app(scope, receive, send), 5)
    return received
