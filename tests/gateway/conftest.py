"""Fixtures: an in-process gateway over a real in-process service, without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from companyos_gateway.app import create_app
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_shared.wire.context import Actor
from tests.gateway.notes import SERVICE, NoteKeeping
from verification.in_process import Wrap, in_process_service_client, service_app

TRAINER = "the-trainer's-token"


class NotesGateway:
    """HTTP client of the gateway, with its app, its runtime and the service."""

    def __init__(self, http: httpx.AsyncClient, app: FastAPI, runtime: GatewayRuntime, service: FastAPI) -> None:
        self.http = http
        self.app = app
        self.runtime = runtime
        self.service = service

    async def reset(self, **options: Any) -> dict[str, Any]:
        answer = await self.http.post("/reset", json={"scenario": "note_keeping", "seed": 1, **options})
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    async def begin(self, *notes: str, **options: Any) -> str:
        """Start an episode, write notes and return its id."""
        episode = str((await self.reset(**options))["episode_id"])
        for text in notes:
            await self.step(episode, "notes_write_note", text=text)
        return episode

    async def post_step(self, episode_id: str, tool_name: str, *, step: int | None = None, **arguments: Any) -> Any:
        body: dict[str, Any] = {"episode_id": episode_id, "action": {"tool_name": tool_name, "arguments": arguments}}
        if step is not None:
            body["step"] = step
        return await self.http.post("/step", json=body)

    async def step(self, episode_id: str, tool_name: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.post_step(episode_id, tool_name, **arguments)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    async def state(self, episode_id: str) -> dict[str, Any]:
        body: dict[str, Any] = (await self.http.get("/state", params={"episode_id": episode_id})).json()
        return body

    async def texts(self, episode_id: str) -> list[str]:
        """Return the texts of all notes, which takes a step."""
        listed = await self.step(episode_id, "notes_list_notes")
        return [note["text"] for note in listed["observation"]["result"]]

    async def standing(self, episode_id: str) -> Any:
        """Return the state of an episode, the digest of the service's rows, and the evidence."""
        engine = self.runtime.engine()
        context = engine.store.get(episode_id).context("notes", Actor.TRAINER)
        digest = (await engine.service_clients.digest("notes", context)).digest
        return await self.state(episode_id), digest, (await self.http.get(f"/v1/episodes/{episode_id}/evidence")).json()

    async def evidence(self, episode_id: str) -> dict[str, Any]:
        """Return what the services reported, without the internal id of the episode."""
        stored = (await self.http.get(f"/v1/episodes/{episode_id}/evidence")).json()
        for change in stored["changes"]["notes"]:
            change["cause"] = change["cause"] and change["cause"].rpartition(":")[2]
        return {name: stored[name] for name in ("initial", "changes", "audits", "finish")}

    async def snapshot(self, episode_id: str) -> str:
        """Take a snapshot and return its id."""
        answer = await self.http.post(f"/v1/episodes/{episode_id}/snapshots")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def restore(self, episode_id: str, snapshot_id: str) -> httpx.Response:
        return await self.http.post(f"/v1/episodes/{episode_id}/restore", json={"snapshot": snapshot_id})

    async def fork(self, snapshot_id: str, count: int = 1) -> list[str]:
        """Fork a snapshot and return the ids of the new episodes."""
        answer = await self.http.post(f"/v1/snapshots/{snapshot_id}/fork", json={"count": count})
        assert answer.status_code == 201, answer.text
        return [opened["episode_id"] for opened in answer.json()]

    async def live_ids(self) -> list[str]:
        return [state["episode_id"] for state in (await self.http.get("/v1/episodes")).json()]

    async def quarantine(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await self.http.get("/v1/quarantine")).json()
        return items


def http_client(app: ASGIApp, url: str = "http://g", *, authorization: str | None = None) -> httpx.AsyncClient:
    """Return a client of an app in this process, which sends the `Authorization` header if given."""
    headers = [] if authorization is None else [(b"authorization", authorization.encode())]
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url, headers=headers)


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of an error response."""
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


OpenGateway = Callable[..., AbstractAsyncContextManager[NotesGateway]]


@asynccontextmanager
async def gateway_over(
    services: Mapping[str, FastAPI],
    scenarios: Mapping[str, Any] | None = None,
    *,
    wrap: Wrap = lambda way: way,
    **settings: Any,
) -> AsyncIterator[NotesGateway]:
    """Run a gateway over the apps of services, of which the first is the notes service."""
    clients = {name: in_process_service_client(name, service, wrap) for name, service in services.items()}
    scenarios = scenarios or {"note_keeping": NoteKeeping()}
    runtime = GatewayRuntime(Settings(**settings), service_clients=ServiceClients(clients), scenarios=scenarios)
    app = create_app(runtime)
    async with app.router.lifespan_context(app), http_client(app) as http:
        yield NotesGateway(http, app, runtime, next(iter(services.values())))


@pytest.fixture
def open_gateway(tmp_path: Path) -> OpenGateway:
    """Return a function that opens a gateway over the notes service."""

    @asynccontextmanager
    async def opened(
        scenario: NoteKeeping | None = None,
        *,
        names: Sequence[str] = ("note_keeping",),
        **options: Any,
    ) -> AsyncIterator[NotesGateway]:
        service = service_app(SERVICE, tmp_path)
        scenarios = dict.fromkeys(names, scenario or NoteKeeping())
        async with gateway_over({"notes": service}, scenarios, **options) as gateway:
            yield gateway
        service.state.episodes.close()

    return opened


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The data folder of the gateways that `open_kept` opens."""
    return tmp_path / "kept"


@pytest.fixture
def open_kept(open_gateway: OpenGateway, kept: Path) -> OpenGateway:
    """Return a function that opens a gateway over the notes service with a data folder, which later ones read again."""
    return partial(open_gateway, data_dir=kept)


@pytest.fixture
async def gateway(open_gateway: OpenGateway) -> AsyncIterator[NotesGateway]:
    """Provide a gateway over the notes service."""
    async with open_gateway() as opened:
        yield opened


@pytest.fixture
async def locked(open_gateway: OpenGateway) -> AsyncIterator[NotesGateway]:
    """Provide a gateway that requires tokens, with the trainer as its client."""
    async with open_gateway(trainer_token=TRAINER) as gateway:
        gateway.http.headers["Authorization"] = f"Bearer {TRAINER}"
        yield gateway
