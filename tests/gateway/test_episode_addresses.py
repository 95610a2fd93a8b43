"""Episode routes below `/v1/episodes`: they behave like `/reset`, `/step`, `/state` and `/render`."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.contract.crawler import Page
from tests.gateway.conftest import NotesGateway, OpenGateway, http_client, problem
from tests.gateway.notes import NoteKeeping

LIST: dict[str, Any] = {"action": {"tool_name": "notes_list_notes", "arguments": {}}}


async def _created(gateway: NotesGateway, **options: Any) -> str:
    answer = await gateway.http.post("/v1/episodes", json={"scenario": "note_keeping", "seed": 1, **options})
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/episodes/{answer.json()['episode_id']}"
    return str(answer.headers["location"])


async def _step(gateway: NotesGateway, address: str, tool_name: str, **arguments: Any) -> dict[str, Any]:
    answer = await gateway.http.post(
        f"{address}/step", json={"action": {"tool_name": tool_name, "arguments": arguments}}
    )
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_an_episode_is_played_at_its_url_from_creation_to_deletion(gateway: NotesGateway) -> None:
    address = await _created(gateway, episode_id="one")
    assert (await _step(gateway, address, "notes_finish_note", note_id=1))["reward"] == 1.9
    last = await _step(gateway, address, "notes_finish_note", note_id=2)
    assert (last["done"], last["reward"]) == (True, 14.9)
    state = (await gateway.http.get(f"{address}/state")).json()
    assert (state["outcome"], state["step_count"]) == ("success", 2)
    assert (await gateway.http.delete(address)).status_code == 204
    assert (await gateway.http.get(f"{address}/state")).json()["code"] == "unknown-episode"


async def test_both_kinds_of_routes_serve_the_same_episode(gateway: NotesGateway) -> None:
    address = await _created(gateway, episode_id="one")
    simple = await gateway.step("one", "notes_write_note", text="a")
    again = await gateway.http.post(
        f"{address}/step", json={"action": {"tool_name": "notes_write_note", "arguments": {"text": "a"}}, "step": 1}
    )
    assert again.json() == simple
    assert (await gateway.http.get(f"{address}/state")).json() == await gateway.state("one")
    for form in ("json", "text", "ansi", "html"):
        shown = await gateway.http.get("/render", params={"episode_id": "one", "format": form})
        assert (await gateway.http.get(f"{address}/render", params={"format": form})).text == shown.text
    assert (await gateway.http.get(f"{address}/tools")).json() == (
        await gateway.http.get("/v1/tools", params={"episode_id": "one"})
    ).json()


async def test_creating_an_episode_returns_what_a_reset_returns(gateway: NotesGateway) -> None:
    created = (await gateway.http.post("/v1/episodes", json={"scenario": "note_keeping", "seed": 1})).json()
    reset = await gateway.reset()
    for answer in (created, reset):
        assert answer.pop("episode_id")
        assert answer.pop("token")
    assert created == reset


async def test_resuming_an_episode_creates_no_new_one(gateway: NotesGateway) -> None:
    address = await _created(gateway, episode_id="one")
    response = await _step(gateway, address, "notes_list_notes")
    token = (await gateway.http.get(f"{address}/state")).json()["token"]
    resumed = await gateway.http.post("/v1/episodes", json={"resume": token})
    assert (resumed.status_code, resumed.headers["location"]) == (200, address)
    assert resumed.json()["observation"] == response["observation"]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/v1/episodes", {"seed": -1}, 422, "invalid-reset"),
        ("POST", "/v1/episodes", {"scenario": "note_keeping", "episode_id": "one"}, 409, "episode-exists"),
        ("POST", "/v1/episodes/one/step", {}, 422, "invalid-action"),
        ("POST", "/v1/episodes/one/step", {"episode_id": "one", **LIST}, 422, "invalid-action"),
        ("POST", "/v1/episodes/one/step", {**LIST, "step": 7}, 409, "step-conflict"),
        ("POST", "/v1/episodes/two/step", LIST, 404, "unknown-episode"),
        ("GET", "/v1/episodes/two/state", None, 404, "unknown-episode"),
        ("GET", "/v1/episodes/two/render", None, 404, "unknown-episode"),
        ("GET", "/v1/episodes/two/tools", None, 404, "unknown-episode"),
        ("GET", "/v1/episodes/one/render?format=gif", None, 422, "invalid-request"),
        ("GET", "/v1/episodes/one/render?colour=1", None, 422, "invalid-request"),
        ("GET", "/v1/tools?format=gemini", None, 422, "invalid-request"),
    ],
)
async def test_an_invalid_request_gets_a_problem_with_a_code(
    gateway: NotesGateway, method: str, path: str, body: dict[str, Any] | None, status: int, code: str
) -> None:
    await _created(gateway, episode_id="one")
    answer = await gateway.http.request(method, path, json=body)
    assert problem(answer) == (status, code)


async def test_production_mode_has_no_simulation_routes(open_gateway: OpenGateway) -> None:
    async with open_gateway(mode="production") as gateway:
        paths = (await gateway.http.get("/openapi.json")).json()["paths"]
        assert not [path for path in paths if path.startswith("/v1/episodes")]
        assert not {"/reset", "/step", "/state", "/render"} & set(paths)
        for method, path in (("POST", "/v1/episodes"), ("POST", "/v1/episodes/one/step"), ("GET", "/state")):
            assert (await gateway.http.request(method, path, json={})).status_code == 404
        assert (await gateway.http.get("/v1/tools")).status_code == 200


@pytest.mark.parametrize("form", ["anthropic", "openai", "mcp", "transformers"])
async def test_tools_are_described_in_the_requested_format(gateway: NotesGateway, form: str) -> None:
    plain = (await gateway.http.get("/v1/tools")).json()
    tools = (await gateway.http.get("/v1/tools", params={"format": form})).json()
    assert [_name(tool) for tool in tools] == [tool["name"] for tool in plain]
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(_schema(tool))


async def test_chat_templates_find_a_type_and_a_description_of_every_argument(gateway: NotesGateway) -> None:
    tools = (await gateway.http.get("/v1/tools", params={"format": "transformers"})).json()
    arguments = [one for tool in tools for one in _schema(tool)["properties"].values()]
    assert arguments
    assert all({"type", "description"} <= set(argument) for argument in arguments)
    assert all("required" in _schema(tool) for tool in tools)


async def test_tools_in_the_mcp_format_equal_those_of_the_mcp_server(gateway: NotesGateway) -> None:
    address = await _created(gateway)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepted = {"Accept": "application/json, text/event-stream"}
    served = (await gateway.http.post(f"{address}/mcp", json=request, headers=accepted)).json()["result"]["tools"]
    assert (await gateway.http.get(f"{address}/tools", params={"format": "mcp"})).json() == served


async def test_an_episode_page_loads_no_external_resources(gateway: NotesGateway) -> None:
    address = await _created(gateway, episode_id="one", scenario="note_keeping")
    await _step(gateway, address, "notes_write_note", text="<script>alert(1)</script> & \x1b[31m")
    shown = await gateway.http.get(f"{address}/render", params={"format": "html"})
    assert shown.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    page = Page(shown.text)
    assert not {tag for tag, _ in page.parts} & {"script", "link", "img", "iframe", "form"}
    assert not {name for _, name in page.parts} & {"src", "href", "action"}
    text = "".join(page.read)
    assert "<script>alert(1)</script>" in text
    assert "Do notes 1 and 2." in text
    state = (await gateway.http.get(f"{address}/state")).json()
    assert f"{state['return']:+.2f}" in text


async def test_the_ansi_rendering_contains_no_control_characters_of_the_agent(gateway: NotesGateway) -> None:
    address = await _created(gateway)
    await _step(gateway, address, "notes_write_note", text="\x1b]0;owned\x07")
    shown = (await gateway.http.get(f"{address}/render", params={"format": "ansi"})).text
    assert "\x1b[1" in shown
    assert "\x1b]" not in shown
    assert "\x07" not in shown


async def test_an_ended_episode_is_shown_with_its_outcome(open_gateway: OpenGateway) -> None:
    async with open_gateway(NoteKeeping(max_steps=1)) as gateway:
        address = await _created(gateway)
        await _step(gateway, address, "no_such_tool")
        for form in ("text", "html"):
            shown = (await gateway.http.get(f"{address}/render", params={"format": form})).text
            assert "out_of_steps" in shown
            assert "No tool is named " in shown


async def test_an_agent_sees_neither_rewards_nor_the_task_in_a_rendering(locked: NotesGateway) -> None:
    address = await _created(locked, episode_id="mine")
    token = (await locked.http.get(f"{address}/state")).json()["token"]
    await _step(locked, address, "notes_finish_note", note_id=1)
    async with http_client(locked.app, authorization=f"Bearer {token}") as agent:
        shown = (await agent.get(f"{address}/render")).json()
        texts = [(await agent.get(f"{address}/render", params={"format": form})).text for form in ("ansi", "html")]
    hidden = ("total", "outcome", "scenario", "seed", "chaos")
    assert {name: shown[name] for name in hidden} == dict.fromkeys(hidden)
    assert [step["reward"] for step in shown["steps"]] == [None]
    for text in texts:
        assert "1.9" not in text
        assert "note_keeping" not in text
        assert "notes_finish_note" in text


def _name(tool: dict[str, Any]) -> str:
    return str(tool.get("function", tool)["name"])


def _schema(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function", tool)
    words = {"input_schema", "inputSchema", "parameters"} & set(function)
    assert len(words) == 1
    schema: dict[str, Any] = function[words.pop()]
    return schema
