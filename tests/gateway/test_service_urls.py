"""An episode's services over their own REST API: a request is the same step as the tool call, and needs the URL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos_gateway.api.service_urls import find_tool, tool_arguments
from companyos_gateway.engine.toolbox import build_toolbox
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import Stream
from companyos_shared.wire.context import Fault, FaultKind
from tests.contract.conftest import SERVICES
from tests.gateway.conftest import NotesGateway, OpenGateway, http_client, problem
from tests.gateway.notes import NoteKeeping

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


async def _notes(gateway: NotesGateway, episode_id: str) -> httpx.AsyncClient:
    urls = (await gateway.http.post(f"/v1/episodes/{episode_id}/service-urls")).json()
    assert list(urls) == ["notes"]
    return http_client(gateway.app, urls["notes"])


async def _evidence(gateway: NotesGateway, episode_id: str) -> dict[str, Any]:
    evidence: dict[str, Any] = (await gateway.http.get(f"/v1/episodes/{episode_id}/evidence")).json()
    state = evidence.pop("state")
    kept = {name: state[name] for name in ("step_count", "return", "now", "outcome")}
    own = {name: value for name, value in evidence.items() if name not in ("signature", "folder")}
    text = str(own).replace(evidence["folder"], "EPISODE")  # the causes of changes name the episode
    return {"own": text, **kept}


async def test_rest_requests_leave_the_same_evidence_as_tool_calls(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="tools")
    await gateway.step("tools", "notes_list_notes", word="milk")
    await gateway.step("tools", "notes_get_note", note_id=404)
    await gateway.step("tools", "notes_write_note", text="a", stars=3, idempotency_key="k")
    await gateway.step("tools", "notes_write_note", text=7)
    await gateway.step("tools", "notes_get_note", note_id=1)
    await gateway.reset(episode_id="rest")
    notes = await _notes(gateway, "rest")
    answers = [
        await notes.get("/notes", params={"word": "milk"}),
        await notes.get("/notes/404"),
        await notes.post("/notes", json={"text": "a", "stars": 3}, headers={"Idempotency-Key": "k"}),
        await notes.post("/notes", json={"text": 7}),
        await notes.get("/notes/1"),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 201, 422, 200]
    assert [answer.json().get("code") for answer in (answers[1], answers[3])] == ["note-not-found", "invalid-arguments"]
    assert answers[3].headers["content-type"] == "application/problem+json"
    assert await _evidence(gateway, "rest") == await _evidence(gateway, "tools")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/control/evidence"), ("POST", "/control/reset"), ("DELETE", "/notes")]
)
async def test_a_route_without_a_tool_is_not_found_and_not_a_step(
    gateway: NotesGateway, method: str, path: str
) -> None:
    await gateway.reset(episode_id="one")
    notes = await _notes(gateway, "one")
    assert (await notes.request(method, path)).json()["code"] == "not-found"
    assert (await gateway.state("one"))["step_count"] == 0


async def test_the_url_requires_no_token_and_grants_access_to_nothing_else(locked: NotesGateway) -> None:
    await locked.reset(episode_id="one")
    await locked.reset(episode_id="two")
    notes = await _notes(locked, "one")
    assert (await notes.get("/notes")).status_code == 200
    root = str(notes.base_url).rstrip("/")
    wrong = [
        root.replace("/one/", "/two/"),
        root.replace("/one/", "/three/"),
        root.replace("/services/notes/", "/services/tickets/"),
        root[:-1],
        f"{root}x",
        root.rpartition("/")[0] + "/%C3%A9",
    ]
    async with http_client(locked.app) as client_without_token:
        for url in wrong:
            assert (await client_without_token.get(f"{url}/notes")).json()["code"] == "token-required", url
        assert (await client_without_token.post("/v1/episodes/one/service-urls")).status_code == 401
        for beyond in ("state", "evidence", "step"):
            assert (await client_without_token.get(f"{root}/../../../{beyond}")).status_code == 401
    for url in wrong:
        assert (await locked.http.get(f"{url}/notes")).json()["code"] == "unknown-token", url
    assert (await locked.state("two"))["step_count"] == 0


async def test_the_url_is_invalid_after_the_episode(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="one")
    notes = await _notes(gateway, "one")
    await gateway.step("one", "finish", outcome="done", summary="Done.")
    over = await notes.get("/notes")
    assert (over.status_code, over.json()["code"]) == (409, "episode-done")
    assert "ended as" not in over.text
    await gateway.http.delete("/v1/episodes/one")
    assert (await notes.get("/notes")).json()["code"] == "unknown-token"
    await gateway.reset(episode_id="one")
    assert (await notes.get("/notes")).json()["code"] == "unknown-token"


async def test_faults_and_errors_have_the_responses_of_the_service(open_gateway: OpenGateway) -> None:
    faults = {("list_notes", 1): Fault(kind=FaultKind.RATE_LIMITED, retry_after_s=7)}
    async with open_gateway(NoteKeeping(faults=faults)) as gateway:
        await gateway.reset(episode_id="one")
        notes = await _notes(gateway, "one")
        limited = await notes.get("/notes")
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "7")
        assert (await notes.get("/notes")).status_code == 200
        assert problem(await notes.post("/broken")) == (500, "internal-error")
        assert (await gateway.state("one"))["outcome"] == "infra_error"


async def test_a_body_that_is_not_an_object_is_rejected_and_not_a_step(gateway: NotesGateway) -> None:
    await gateway.reset(episode_id="one")
    notes = await _notes(gateway, "one")
    for body in (b"[]", b"{", b'{"text": "a", "text": "b"}'):
        assert (await notes.post("/notes", content=body)).status_code in (400, 422)
    assert (await gateway.state("one"))["step_count"] == 0


@pytest.mark.parametrize("service", sorted(SERVICES))
async def test_a_request_of_every_tool_has_the_arguments_of_its_call(service: str) -> None:
    async with ServiceHarness(SERVICES[service]) as harness:
        document = harness.app.openapi()
    tools = [tool for tool in build_toolbox({service: document}, {"type": "object"}) if tool.operation]
    context = SamplingContext(ids=["IT-210", "VEN-201"], now=NOW)
    for tool in tools:
        assert tool.operation is not None
        for number in range(20):
            arguments = sample_arguments(tool.input_schema, Stream("rest", tool.name, number), context)
            call = tool.operation.build_call(arguments)
            request = httpx.Request(call.method, f"http://s{call.target}", headers=call.headers or {})
            found = find_tool(tools, service, call.method, request.url.path)
            assert found is not None, call.target
            assert found[0] is tool
            headers = {name: unquote(value) for name, value in (call.headers or {}).items()}
            body = json.loads(call.body) if call.body else {}
            given = tool_arguments(tool.operation, found[1], request.url.params.multi_items(), headers, body)
            assert _set(given) == _set(arguments), tool.name


def _set(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
