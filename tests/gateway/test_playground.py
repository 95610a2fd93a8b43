"""The playground at `/web`: off by default, an episode per visitor, no resources of other hosts."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.settings import Settings
from tests.gateway.conftest import TRAINER, NotesGateway, OpenGateway, http_client

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""Paths of Gradio itself."""


@pytest.fixture
async def playground(open_gateway: OpenGateway) -> AsyncIterator[NotesGateway]:
    """Return a gateway with the playground."""
    async with open_gateway(web=True) as gateway:
        yield gateway


async def _functions(gateway: NotesGateway) -> dict[str, int]:
    """Return the indexes of the page's functions by trigger."""
    config = (await gateway.http.get("/web/config")).json()
    return {trigger: one["id"] for one in config["dependencies"] for _, trigger in one["targets"]}


async def _call(gateway: NotesGateway, visitor: str, function: int, *data: Any) -> dict[str, Any]:
    """Call a function of the page like a browser and return the final result."""
    body = {"fn_index": function, "session_hash": visitor, "data": data}
    joined = await gateway.http.post("/web/gradio_api/queue/join", json=body)
    assert joined.status_code == 200, joined.text
    result = await gateway.http.get("/web/gradio_api/queue/data", params={"session_hash": visitor})
    events = [json.loads(line.removeprefix("data: ")) for line in result.text.splitlines() if line]
    return next(event for event in events if event["msg"] == "process_completed")


async def _begin(gateway: NotesGateway, visitor: str, seed: str = "1") -> str:
    """Open the page as a visitor and return the task that it shows."""
    result = await _call(gateway, visitor, (await _functions(gateway))["load"], "note_keeping", 1, seed)
    assert result["success"], result
    return str(result["output"]["data"][2])


async def _form(gateway: NotesGateway, visitor: str, tool: str) -> dict[str, Any]:
    """Select a tool and return its form."""
    result = await _call(gateway, visitor, (await _functions(gateway))["change"], tool)
    assert result["success"], result
    form: dict[str, Any] = result["output"]["render_config"]
    return form


async def _take(gateway: NotesGateway, visitor: str, tool: str, *raw: str) -> dict[str, Any]:
    form = await _form(gateway, visitor, tool)
    return await _call(gateway, visitor, form["dependencies"][0]["id"], *raw)


async def test_the_playground_is_served_only_if_it_is_enabled(open_gateway: OpenGateway) -> None:
    for settings in ({}, {"web": True, "mode": "production"}):
        async with open_gateway(**settings) as gateway:
            assert (await gateway.http.get("/web/")).status_code == 404


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("1", True), ("yes", True), ("false", False), ("", False)]
)
def test_the_playground_is_enabled_by_the_variable_of_the_framework(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setenv("ENABLE_WEB_INTERFACE", value)
    assert Settings().web is expected


@pytest.mark.integration
def test_starting_the_gateway_imports_neither_gradio_nor_an_openai_client() -> None:
    code = (
        "from companyos.openenv_preload import preload_openenv; preload_openenv()\n"
        "import sys; from companyos_gateway.app import create_app\n"
        "from companyos_gateway.runtime import GatewayRuntime; from companyos_gateway.settings import Settings\n"
        "create_app(GatewayRuntime(Settings(web=True))); print({'gradio', 'openai'} & set(sys.modules) or 'neither')\n"
        "from companyos_gateway.api.openenv_environment import Rubric; import openenv.core.rubrics as rubrics\n"
        "print(rubrics.Rubric is Rubric, rubrics.LLMJudge.__name__)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n") == ["neither", "True LLMJudge", ""]


async def test_the_playground_loads_no_external_resources_and_rejects_cross_site_requests(
    playground: NotesGateway,
) -> None:
    assert (await playground.http.get("/web")).headers["location"] == "/web/"
    page = await playground.http.get("/web/", headers={"Origin": "https://elsewhere.example"})
    assert page.status_code == 200
    assert not [name for name in page.headers if name.startswith("access-control-")]
    assert not re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="https?://', page.text)
    assert '"analytics_enabled":false' in page.text.replace(" ", "")
    foreign = await playground.http.post(
        "/web/gradio_api/queue/join", json={}, headers={"Origin": "https://elsewhere.example"}
    )
    assert foreign.json()["code"] == "foreign-origin"


async def test_each_visitor_plays_a_separate_episode_with_forms(playground: NotesGateway) -> None:
    for visitor in ("anna", "ben"):
        assert "Do notes 1 and 2." in await _begin(playground, visitor)
    form = await _form(playground, "anna", "notes_write_note")
    labels = [one["props"].get("label") for one in form["components"]]
    assert [label for label in labels if label] == ["text *", "idempotency_key", "stars (number)", "scores (JSON)"]
    task, answer = (await _take(playground, "anna", "notes_write_note", "<b>mine</b>", "", "3", ""))["output"]["data"]
    assert "1 taken, 9 left" in task
    assert "&lt;b&gt;mine&lt;/b&gt;" in answer
    assert "carried_out" in answer
    await _take(playground, "anna", "notes_finish_note", "1")
    assert sorted(episode.step for episode in playground.runtime.engine().store) == [0, 2]


async def test_invalid_input_is_not_a_step_and_does_not_change_the_page(playground: NotesGateway) -> None:
    await _begin(playground, "anna")
    refused = await _take(playground, "anna", "notes_finish_note", "one")
    assert [one["__type__"] for one in refused["output"]["data"]] == ["update"] * 2
    assert [episode.step for episode in playground.runtime.engine().store] == [0]
    begun = await _call(playground, "anna", (await _functions(playground))["load"], "note_keeping", 1, "soon")
    assert {one["__type__"] for one in begun["output"]["data"] if one} == {"update"}


async def test_a_new_episode_of_a_visitor_replaces_the_previous_one(playground: NotesGateway) -> None:
    await _begin(playground, "anna")
    (before,) = playground.runtime.engine().store
    await _begin(playground, "anna", seed="2")
    (after,) = playground.runtime.engine().store
    assert before.closed
    assert after.task.key.seed == 2


async def test_an_open_page_does_not_delay_the_shutdown_and_its_episode_is_freed(playground: NotesGateway) -> None:
    await _begin(playground, "anna")
    listening = asyncio.create_task(playground.http.get("/web/gradio_api/heartbeat/anna"))
    done, _ = await asyncio.wait([listening], timeout=0.2)
    assert not done
    (drain,) = (one.kwargs["drain"] for one in playground.app.user_middleware if "drain" in one.kwargs)
    assert isinstance(drain, DrainState)
    await drain.drain()
    assert (await asyncio.wait_for(listening, 5)).status_code == 200
    assert len(playground.runtime.engine().store) == 0


async def test_the_playground_requires_the_trainer_token_if_one_is_configured(open_gateway: OpenGateway) -> None:
    async with open_gateway(web=True, trainer_token=TRAINER) as gateway:
        gateway.http.headers["Authorization"] = f"Bearer {TRAINER}"
        token = (await gateway.reset())["token"]
        for authorization, code in ((None, "token-required"), (f"Bearer {token}", "trainer-token-required")):
            async with http_client(gateway.app, authorization=authorization) as client:
                for path in ("/web", "/web/", "/web/config", "/web/gradio_api/info"):
                    assert (await client.get(path)).json()["code"] == code
