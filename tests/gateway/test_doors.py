"""The other doors: pages, documentation, health, the framework's own routes, production mode, bad bodies."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from fastapi.routing import APIRoute

from companyos_gateway.engine import errors
from companyos_gateway.server.queries import refuse_unknown_queries
from tests.gateway.conftest import Door, Open


async def test_the_home_page_stands_alone(door: Door) -> None:
    page = await door.http.get("/")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["content-security-policy"]
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert links
    for link in links:
        assert link.startswith("/")
        assert (await door.http.get(link)).status_code == 200, link


async def test_the_api_documentation_works_offline(door: Door) -> None:
    page = await door.http.get("/docs")
    assert "//" not in re.sub(r"<!doctype html>", "", page.text)
    for link in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert (await door.http.get(link)).status_code == 200, link
    described = (await door.http.get("/openapi.json")).json()
    assert described["paths"]["/reset"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert (
        "episode_id"
        in described["paths"]["/step"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    )


async def test_our_own_reset_comes_before_the_framework_s(door: Door) -> None:
    first = await door.reset()
    assert (await door.step(first["episode_id"], "notes_list_notes"))["observation"]["result"]


async def test_the_framework_tells_what_this_is(door: Door) -> None:
    assert (await door.http.get("/metadata")).json()["name"] == "companyos"
    schema = (await door.http.get("/schema")).json()
    assert "brief" in schema["reset_observation"]["properties"]
    assert "return" in schema["state"]["properties"]


async def test_production_mode_has_no_control_plane(open_door: Open) -> None:
    async with open_door(mode="production") as door:
        for path in ("/reset", "/step"):
            assert (await door.http.post(path, json={})).status_code in {404, 405}
        assert (await door.http.get("/state")).status_code == 404
        assert (await door.http.get("/v1/tools")).status_code == 200


async def test_alive_and_ready(door: Door) -> None:
    assert (await door.http.get("/livez")).json() == {"status": "alive"}
    ready = await door.http.get("/readyz")
    assert (ready.status_code, ready.json()["services"]) == (200, {"notes": "ready"})


@pytest.mark.parametrize("path", ["/reset", "/step", "/companyos/tasks"])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"[]", 422, "not-an-object"),
        (b"{", 400, "malformed-json"),
        (b"\xff", 400, "malformed-json"),
        (b'{"a": NaN}', 422, "not-finite"),
        (b'{"a": 1, "a": 2}', 422, "duplicate-key"),
        (b'{"a": ' + b"[" * 33 + b"]" * 33 + b"}", 422, "json-too-deep"),
        (b'{"a": "' + b"x" * 65_536 + b'"}', 413, "body-too-large"),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_body_that_does_not_fit_is_a_problem(
    door: Door, path: str, body: bytes, status: int, code: str
) -> None:
    answer = await door.http.post(path, content=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_body_is_counted_while_it_is_read(door: Door) -> None:
    sent = 0

    async def endless() -> object:
        nonlocal sent
        while sent < 10_000_000:
            sent += 4096
            yield b"x" * 4096

    request = httpx.Request("POST", "http://g/reset", content=endless())  # type: ignore[arg-type]
    answer = await door.http.send(request)
    assert answer.status_code == 413
    assert sent < 100_000


async def test_an_unknown_route_is_a_problem_too(door: Door) -> None:
    answer = await door.http.get("/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


async def test_a_refused_method_is_told_every_method_of_the_path(door: Door) -> None:
    assert (await door.http.delete("/render")).headers["allow"] == "GET"
    assert (await door.http.get("/companyos/tasks")).headers["allow"] == "POST"


async def test_the_openapi_names_every_schema_and_every_refusal_on_the_way(door: Door) -> None:
    document = (await door.http.get("/openapi.json")).json()
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= set(document["components"]["schemas"])
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"400", "422"} <= set(operation["responses"])


async def test_the_openapi_names_the_code_of_every_problem_that_plain_http_can_tell(door: Door) -> None:
    described = json.dumps((await door.http.get("/openapi.json")).json()["paths"])
    pages = ("companyos_gateway.ui", "companyos_gateway.server.browsing")
    kinds = [kind for kind in errors.GatewayError.__subclasses__() if not kind.__module__.startswith(pages)]
    assert {kind.code for kind in kinds if f"`{kind.code}`" not in described} == {"not-reset", "internal-error"}


@pytest.mark.parametrize("path", ["/v1/tools?episode=x", "/v1/snapshots?episode_id=nope", "/v1/episodes?all=1"])
async def test_an_unknown_query_is_refused_by_its_name(door: Door, path: str) -> None:
    answer = await door.http.get(path)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert answer.json()["errors"][0]["place"] == path.partition("?")[2].partition("=")[0]


async def test_every_door_of_the_api_refuses_unknown_queries_but_those_of_health(door: Door) -> None:
    routes = [route for route in door.app.routes if isinstance(route, APIRoute) and route.include_in_schema]
    ours = [route for route in routes if route.endpoint.__module__.startswith("companyos_gateway.")]
    heedless = {
        route.path
        for route in ours
        if refuse_unknown_queries not in {dependency.call for dependency in route.dependant.dependencies}
    }
    assert len(ours) > 20
    assert heedless == {"/livez", "/readyz", "/health", "/metrics"}


async def test_a_page_opens_whatever_its_address_says_besides(door: Door) -> None:
    assert (await door.http.get("/?from=elsewhere")).status_code == 200


async def test_a_body_that_does_not_say_that_it_is_json_is_told_so(door: Door) -> None:
    told = await door.http.post("/v1/episodes/one/restore", content=b'{"snapshot": "x"}')
    assert told.status_code == 422
    assert "Content-Type" in told.json()["detail"]


@pytest.mark.parametrize("body", [{"seed": "x"}, {"scenari": "bug_escalation"}, {"chaos": 9}])
async def test_a_demonstration_of_what_there_is_not_is_refused(door: Door, body: dict[str, object]) -> None:
    answer = await door.http.post("/v1/demonstrations", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


async def test_a_missing_query_argument_is_named(door: Door) -> None:
    answer = await door.http.get("/state")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert "episode_id" in answer.json()["detail"]


@pytest.mark.parametrize("action", [{}, {"tool_name": 7}, {"tool_name": "wait", "arguments": []}, {"type": "dance"}])
async def test_an_action_that_is_none_is_no_step(door: Door, action: dict[str, object]) -> None:
    episode = (await door.reset())["episode_id"]
    answer = await door.http.post("/step", json={"episode_id": episode, "action": action})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-action")
    assert (await door.state(episode))["step_count"] == 0
