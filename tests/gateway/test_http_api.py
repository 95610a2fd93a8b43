"""Other HTTP routes: pages, documentation, health, OpenEnv routes, production mode and invalid bodies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fastapi.routing import APIRoute

from companyos_gateway.api.query_params import reject_unknown_query_params
from companyos_gateway.engine import errors
from tests.gateway.conftest import NotesGateway, problem


async def test_the_home_page_loads_only_its_own_files(gateway: NotesGateway) -> None:
    page = await gateway.http.get("/")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["content-security-policy"]
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert links
    for link in links:
        assert link.startswith("/")
        assert (await gateway.http.get(link)).status_code == 200, link


async def test_the_api_documentation_works_offline(gateway: NotesGateway) -> None:
    page = await gateway.http.get("/docs")
    assert "//" not in re.sub(r"<!doctype html>", "", page.text)
    for link in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert (await gateway.http.get(link)).status_code == 200, link
    described = (await gateway.http.get("/openapi.json")).json()
    assert described["paths"]["/reset"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert (
        "episode_id"
        in described["paths"]["/step"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    )


async def test_the_openenv_routes_describe_the_environment(gateway: NotesGateway) -> None:
    assert (await gateway.http.get("/metadata")).json()["name"] == "companyos"
    schema = (await gateway.http.get("/schema")).json()
    assert "brief" in schema["reset_observation"]["properties"]
    assert "return" in schema["state"]["properties"]


async def test_a_405_response_lists_every_method_of_the_path(gateway: NotesGateway) -> None:
    assert (await gateway.http.delete("/render")).headers["allow"] == "GET"
    assert (await gateway.http.get("/companyos/tasks")).headers["allow"] == "POST"


async def test_the_openapi_document_contains_every_schema_and_middleware_error(gateway: NotesGateway) -> None:
    document = (await gateway.http.get("/openapi.json")).json()
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= set(document["components"]["schemas"])
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"400", "422"} <= set(operation["responses"])


async def test_the_openapi_document_contains_every_problem_code(gateway: NotesGateway) -> None:
    described = json.dumps((await gateway.http.get("/openapi.json")).json()["paths"])
    pages = ("companyos_gateway.ui", "companyos_gateway.ui.page_requests")
    kinds = [kind for kind in errors.GatewayError.__subclasses__() if not kind.__module__.startswith(pages)]
    assert {kind.code for kind in kinds if f"`{kind.code}`" not in described} == {"not-reset", "internal-error"}


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        ({"sed": 1}, 'unknown option "sed"; accepted: scenario, seed, '),
        ({"seed": "x"}, 'seed: must be a valid integer; got "x"'),
        ({"chaos": 9}, "chaos: must be one of 0 calm, 1 light, "),
        ({"episode_id": "a b"}, "episode_id: must match pattern '^[A-Za-z0-9_-]"),
        ({"toolset": "none"}, "toolset: must be 'all' or 'task'; got \"none\""),
    ],
)
async def test_an_invalid_reset_option_is_named_with_its_value(
    gateway: NotesGateway, options: dict[str, Any], detail: str
) -> None:
    answer = await gateway.http.post("/reset", json=options)
    assert problem(answer) == (422, "invalid-reset")
    assert answer.json()["detail"].startswith(detail)


async def test_an_invalid_query_parameter_is_named_with_its_value(gateway: NotesGateway) -> None:
    answer = await gateway.http.get("/v1/tools?format=gemini")
    assert answer.json()["detail"].startswith("format: must be ")
    assert answer.json()["detail"].endswith('; got "gemini"')


@pytest.mark.parametrize("path", ["/v1/tools?episode=x", "/v1/snapshots?episode_id=nope", "/v1/episodes?all=1"])
async def test_an_unknown_query_parameter_is_rejected_by_name(gateway: NotesGateway, path: str) -> None:
    answer = await gateway.http.get(path)
    assert problem(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["place"] == path.partition("?")[2].partition("=")[0]


async def test_every_api_route_except_health_rejects_unknown_query_parameters(gateway: NotesGateway) -> None:
    routes = [route for route in gateway.app.routes if isinstance(route, APIRoute) and route.include_in_schema]
    ours = [route for route in routes if route.endpoint.__module__.startswith("companyos_gateway.")]
    unchecked = {
        route.path
        for route in ours
        if reject_unknown_query_params not in {dependency.call for dependency in route.dependant.dependencies}
    }
    assert len(ours) > 20
    assert unchecked == {"/livez", "/readyz", "/health", "/metrics"}


async def test_the_signature_of_every_route_is_valid(gateway: NotesGateway) -> None:
    for app in (gateway.app, gateway.service):
        routes = [route for route in app.routes if isinstance(route, APIRoute)]
        assert len(routes) > 20
        assert all(route.dependant.call is route.endpoint for route in routes)


async def test_pages_ignore_unknown_query_parameters(gateway: NotesGateway) -> None:
    assert (await gateway.http.get("/?from=elsewhere")).status_code == 200


async def test_a_body_without_a_json_content_type_is_rejected_with_the_reason(gateway: NotesGateway) -> None:
    response = await gateway.http.post("/v1/episodes/one/restore", content=b'{"snapshot": "x"}')
    assert response.status_code == 422
    assert "Content-Type" in response.json()["detail"]


@pytest.mark.parametrize("body", [{"seed": "x"}, {"scenari": "bug_escalation"}, {"chaos": 9}])
async def test_a_demonstration_with_invalid_options_is_rejected(gateway: NotesGateway, body: dict[str, object]) -> None:
    assert problem(await gateway.http.post("/v1/demonstrations", json=body)) == (422, "invalid-request")


async def test_a_missing_query_argument_is_named(gateway: NotesGateway) -> None:
    answer = await gateway.http.get("/state")
    assert problem(answer) == (422, "invalid-request")
    assert "episode_id" in answer.json()["detail"]
