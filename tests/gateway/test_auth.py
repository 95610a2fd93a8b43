"""Authorization: the routes that the trainer's token and an episode's token open, and that nothing else opens any."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import httpx
import orjson
import pytest
from fastapi import APIRouter
from pydantic import SecretStr
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from companyos_gateway.app import create_app
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.tokens import TOKEN_LENGTH
from companyos_gateway.middleware.auth import AGENT_ROUTES, PUBLIC_PREFIX, PUBLIC_ROUTES
from companyos_gateway.page_paths import is_console_path, is_desk_path
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from tests.gateway.conftest import TRAINER, NotesGateway, http_client, problem
from tests.gateway.sockets import connected, handshake

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
WRONG = (
    "Bearer ",
    "Bearer wrong",
    f"Bearer {TRAINER}x",
    f"Bearer {TRAINER[:-1]}",
    f"Basic {TRAINER}",
    TRAINER,
    f"Bearer {'A' * TOKEN_LENGTH}",
    f"Bearer {'é' * TOKEN_LENGTH}",
)
NAMES = {
    "env_name": "companyos",
    "service": "notes",
    "item_id": "n1-0",
    "snapshot_id": "0" * 32,
    "tool": "wait",
    "operation": "write_note",
    "signature": "unsigned",
    "path": "notes",
    "name": "none",
    "screenshot_id": "1",
    "run": "none",
}


def _named(path: str, episode_id: str) -> str:
    """Return the path of a route with real ids."""
    return re.sub(r"\{(\w+)[^}]*\}", lambda found: {**NAMES, "episode_id": episode_id}[found[1]], path)


AGENTS = {(method, _named(path, "watched")) for method, path in AGENT_ROUTES if not is_desk_path(path)}
STEP: dict[str, Any] = {"action": {"tool_name": "notes_write_note", "arguments": {"text": "a"}}}


def _agent(gateway: NotesGateway, token: str) -> httpx.AsyncClient:
    return http_client(gateway.app, authorization=f"Bearer {token}")


def _routes(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """Yield every route, including those of included routers; an unknown kind of route fails the test."""
    for route in routes:
        if isinstance(included := getattr(route, "original_router", None), APIRouter):
            yield from _routes(included.routes)
        else:
            assert isinstance(route, Route | Mount | WebSocketRoute), route
            yield route


def _paths(gateway: NotesGateway, episode_id: str) -> Iterator[str]:
    """Yield every HTTP path of the app, including OpenEnv's, with real ids."""
    for route in _routes(gateway.app.routes):
        if isinstance(route, Route):
            yield _named(route.path, episode_id)
        elif isinstance(route, Mount):
            yield f"{route.path}/home.css"
    yield "/no/such/route"


async def _assert_refused(client: httpx.AsyncClient, method: str, path: str, status: int, code: str) -> None:
    answer = await client.request(method, path, json={} if method in {"POST", "PUT", "PATCH", "DELETE"} else None)
    assert answer.status_code == status, f"{method} {path}: {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    if method != "HEAD":
        assert answer.json()["code"] == code, f"{method} {path}"
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_every_route_except_the_listed_ones_requires_the_trainer_token(locked: NotesGateway) -> None:
    first = await locked.reset(episode_id="watched")
    await locked.step("watched", "notes_write_note", text="before")
    before = await locked.standing("watched")
    paths = set(_paths(locked, "watched"))
    assert {"/reset", "/step", "/state", "/mcp", "/schema", "/docs", "/openapi.json", "/v1/tools"} <= paths
    routes = [(method, path) for path in sorted(paths) for method in METHODS]
    assert set(routes) > PUBLIC_ROUTES
    assert set(routes) > AGENTS
    unknown, forger, agent = (
        http_client(locked.app),
        http_client(locked.app, authorization="Bearer wrong"),
        _agent(locked, first["token"]),
    )
    for method, path in routes:
        if (method, path) in PUBLIC_ROUTES:
            assert (await unknown.request(method, path)).status_code == 200
            continue
        if method == "GET" and path.startswith(PUBLIC_PREFIX):
            assert (await unknown.request(method, path)).status_code == 404
            continue
        if is_desk_path(path) or is_console_path(path):
            refused = (unknown, forger) if is_desk_path(path) else (unknown, forger, agent)
            assert {(await client.request(method, path)).status_code for client in refused} == {403}
            continue
        await _assert_refused(unknown, method, path, 401, "token-required")
        await _assert_refused(forger, method, path, 401, "unknown-token")
        if (method, path) not in AGENTS:
            await _assert_refused(agent, method, path, 403, "trainer-token-required")
    assert await locked.standing("watched") == before
    assert await locked.step("watched", "notes_write_note", text="after")


@pytest.mark.parametrize("wrong", WRONG)
async def test_an_invalid_token_is_rejected_by_every_route(locked: NotesGateway, wrong: str) -> None:
    await locked.reset(episode_id="watched")
    before = await locked.standing("watched")
    async with http_client(locked.app, authorization=wrong) as forger:
        for method, path in sorted(AGENTS | {("POST", "/reset"), ("GET", "/state"), ("POST", "/mcp")}):
            await _assert_refused(forger, method, path, 401, "unknown-token")
    assert await locked.standing("watched") == before


async def test_every_socket_requires_the_trainer_token(locked: NotesGateway) -> None:
    token = (await locked.reset(episode_id="watched"))["token"]
    before = await locked.standing("watched")
    sockets = [route.path for route in _routes(locked.app.routes) if isinstance(route, WebSocketRoute)]
    assert set(sockets) >= {"/ws", "/mcp"}
    for path in [*sockets, "/no/such/route"]:
        for authorization, status, code in (
            ([], 401, "token-required"),
            ([b"Bearer wrong"], 401, "unknown-token"),
            ([f"Bearer {token}".encode()], 403, "trainer-token-required"),
        ):
            headers = [(b"authorization", value) for value in authorization]
            start, body = await handshake(locked.app, path, headers, denial=True)
            assert (start["type"], start["status"]) == ("websocket.http.response.start", status)
            assert orjson.loads(body["body"])["code"] == code
            (closed,) = await handshake(locked.app, path, headers)
            assert closed == {"type": "websocket.close", "code": 1008, "reason": code}
    assert await locked.standing("watched") == before


async def test_the_trainer_plays_over_both_sockets(locked: NotesGateway) -> None:
    headers = [(b"authorization", f"Bearer {TRAINER}".encode())]
    async with connected(locked.app, headers=headers) as socket:
        await socket.reset(episode_id="mine")
        assert (await socket.step("notes_list_notes"))["data"]["observation"]["result"]
        assert len((await socket.state())["token"]) == TOKEN_LENGTH
    async with connected(locked.app, "/mcp", headers=headers) as socket:
        assert (await socket.exchange({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))["result"]["tools"]


async def test_an_agent_plays_its_own_episode_without_seeing_its_id_or_token(locked: NotesGateway) -> None:
    first = await locked.reset(episode_id="the-label-of-it")
    internal_id = locked.runtime.engine().store.get("the-label-of-it").internal_id
    async with _agent(locked, first["token"]) as agent:
        listed = await agent.get("/v1/tools", params={"episode_id": "the-label-of-it"})
        body = {"episode_id": "the-label-of-it"}
        requested = await agent.post("/step", json={**body, "action": {"type": "list_tools"}})
        taken = await agent.post("/step", json={**body, **STEP})
        refused = await agent.post("/step", json={**body, "action": {"tool_name": "no_such_tool", "arguments": {}}})
    for answer in (listed, requested, taken, refused):
        assert answer.status_code == 200
        for secret in ("the-label-of-it", first["token"], internal_id):
            assert secret not in answer.text
            assert secret not in str(answer.headers)
    assert (await locked.state("the-label-of-it"))["step_count"] == 2


async def test_an_agent_is_shown_no_reward(locked: NotesGateway) -> None:
    first = await locked.reset(episode_id="played")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "notes_list_notes", "arguments": {}}}
    headers = {"Accept": "application/json, text/event-stream"}
    async with _agent(locked, first["token"]) as agent:
        step = (await agent.post("/v1/episodes/played/step", json=STEP)).json()
        mcp = (await agent.post("/v1/mcp", json=call, headers=headers)).json()["result"]
        listed = (await agent.post("/v1/episodes/played/step", json={"action": {"type": "list_tools"}})).json()
        finish = {"tool_name": "finish", "arguments": {"outcome": "done", "summary": "Done."}}
        last = (await agent.post("/v1/episodes/played/step", json={"action": finish})).json()
    assert [answer["reward"] for answer in (step, listed, last)] == [None] * 3
    assert mcp["_meta"] == {"step": 2}
    assert "reward" not in str(mcp)
    assert (await locked.http.get("/v1/episodes/played/state")).json()["return"] != 0


async def test_the_outcome_of_an_episode_is_shown_to_the_trainer_only(locked: NotesGateway) -> None:
    first = await locked.reset(episode_id="ended")
    await locked.step("ended", "finish", outcome="done", summary="Looked around.")
    async with _agent(locked, first["token"]) as agent:
        late = await agent.post("/v1/episodes/ended/step", json=STEP)
        shown = await agent.get("/v1/episodes/ended/render", params={"format": "text"})
    output = await locked.http.post("/v1/episodes/ended/step", json=STEP)
    assert problem(late) == (409, "episode-done")
    assert "ended as" not in late.text + shown.text
    assert output.json()["detail"] == "The episode ended as failed."


@pytest.mark.parametrize("named", ["theirs", "nobodys"])
async def test_an_agent_cannot_tell_whether_another_episode_exists(locked: NotesGateway, named: str) -> None:
    mine = await locked.reset(episode_id="mine")
    await locked.reset(episode_id="theirs")
    before = await locked.standing("theirs")
    async with _agent(locked, mine["token"]) as agent:
        answers = [
            await agent.post("/step", json={"episode_id": named, **STEP}),
            await agent.post(f"/v1/episodes/{named}/step", json=STEP),
            await agent.get("/v1/tools", params={"episode_id": named}),
            *[await agent.get(f"/v1/episodes/{named}/{resource}") for resource in ("render", "tools")],
        ]
    for answer in answers:
        assert answer.status_code == 404
        assert answer.json() == {
            "type": "about:blank",
            "title": "Episode not found",
            "status": 404,
            "code": "unknown-episode",
            "detail": "No live episode has this id.",
        }
    assert await locked.standing("theirs") == before


async def test_the_list_of_all_tools_requires_the_trainer_token(locked: NotesGateway) -> None:
    token = (await locked.reset())["token"]
    async with _agent(locked, token) as agent:
        await _assert_refused(agent, "GET", "/v1/tools", 403, "trainer-token-required")
    assert (await locked.http.get("/v1/tools")).status_code == 200


async def test_a_token_is_invalid_after_its_episode(locked: NotesGateway) -> None:
    token = (await locked.reset(episode_id="short"))["token"]
    async with _agent(locked, token) as agent:
        assert (await agent.post("/step", json={"episode_id": "short", **STEP})).status_code == 200
        assert (await locked.http.delete("/v1/episodes/short")).status_code == 204
        await _assert_refused(agent, "POST", "/step", 401, "unknown-token")
        await locked.reset(episode_id="short")
        await _assert_refused(agent, "POST", "/step", 401, "unknown-token")


async def test_requests_with_tokens_are_rejected_while_services_are_unavailable() -> None:
    late = ServiceClients.from_addresses({"late": "unix:/nowhere/late.sock"}, b"key")
    settings = Settings(start_timeout_s=0.01, trainer_token=SecretStr(TRAINER))
    app = create_app(GatewayRuntime(settings, service_clients=late, scenarios={}))
    async with app.router.lifespan_context(app), http_client(app) as http:
        for path in ("/step", "/reset"):
            answer = await http.post(path, json={}, headers={"Authorization": f"Bearer {'A' * TOKEN_LENGTH}"})
            assert problem(answer) == (503, "services-unavailable")
            await _assert_refused(http, "POST", path, 401, "token-required")


async def test_two_authorization_headers_are_rejected(locked: NotesGateway) -> None:
    twice = [("Authorization", f"Bearer {TRAINER}"), ("Authorization", "Bearer other")]
    assert problem(await locked.http.get("/metadata", headers=httpx.Headers(twice))) == (401, "unknown-token")


async def test_the_authorization_scheme_is_case_insensitive(locked: NotesGateway) -> None:
    async with http_client(locked.app, authorization=f"bEARER  {TRAINER}") as trainer:
        assert (await trainer.get("/metadata")).status_code == 200


async def test_without_a_trainer_token_no_authorization_is_required(gateway: NotesGateway) -> None:
    first = await gateway.reset(episode_id="open")
    for authorization in (None, "Bearer wrong", f"Bearer {first['token']}"):
        async with http_client(gateway.app, authorization=authorization) as anonymous:
            assert (await anonymous.get("/state", params={"episode_id": "open"})).status_code == 200
            assert (await anonymous.post("/step", json={"episode_id": "open", **STEP})).status_code == 200
    async with connected(gateway.app) as socket:
        await socket.reset()


async def test_no_response_has_cors_headers(locked: NotesGateway) -> None:
    origin = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    for client in (locked.http, http_client(locked.app)):
        answer = await client.request("OPTIONS", "/step", headers=origin)
        assert not [name for name in answer.headers if name.startswith("access-control-")]
