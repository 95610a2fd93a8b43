"""A gateway in process over a real service in process: the whole path, no network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.server.app import create_app
from companyos_gateway.server.house import House
from companyos_gateway.settings import Settings
from tests.gateway.notes import SERVICE, NoteKeeping
from tests.in_process import Wrap, in_process_service_client, service_app


class Door:
    """A client of the gateway's plain HTTP, and what stands behind it."""

    def __init__(self, http: httpx.AsyncClient, app: FastAPI, house: House, service: FastAPI) -> None:
        self.http = http
        self.app = app
        self.house = house
        self.service = service

    async def reset(self, **options: Any) -> dict[str, Any]:
        answer = await self.http.post("/reset", json={"scenario": "note_keeping", "seed": 1, **options})
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

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


Open = Callable[..., AbstractAsyncContextManager[Door]]


@pytest.fixture
def open_door(tmp_path: Path) -> Open:
    """Return a function that opens a gateway over the notes service."""

    @asynccontextmanager
    async def opened(
        scenario: NoteKeeping | None = None,
        *,
        wrap: Wrap = lambda way: way,
        names: Sequence[str] = ("note_keeping",),
        **settings: Any,
    ) -> AsyncIterator[Door]:
        service = service_app(SERVICE, tmp_path)
        service_clients = ServiceClients({"notes": in_process_service_client("notes", service, wrap)})
        scenarios: Mapping[str, Any] = dict.fromkeys(names, scenario or NoteKeeping())
        house = House(Settings(**settings), service_clients=service_clients, scenarios=scenarios)
        app = create_app(house)
        gateway = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=gateway, base_url="http://g") as http:
            yield Door(http, app, house, service)
        service.state.episodes.close()

    return opened


@pytest.fixture
async def door(open_door: Open) -> AsyncIterator[Door]:
    """A gateway over the notes service."""
    async with open_door() as opened:
        yield opened
