"""The apps as a window asks for them: inside the process, as the agent of its episode and nobody else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.server.apps.doors import apps_router
from companyos_gateway.server.apps.paths import TAKEN_SCOPE_KEY
from companyos_gateway.server.guard import Guard
from companyos_gateway.server.house import House
from companyos_gateway.server.pages import static_mounts
from companyos_gateway.server.planes import AGENT_SCOPE_KEY
from companyos_gateway.server.problems import install_problem_handlers
from companyos_gateway.server.screens.addresses import ORIGIN


@dataclass(frozen=True, slots=True)
class Page:
    """What was answered to a window, and the steps that were taken to answer it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    taken: list[StepObservation] = field(default_factory=list)


class Inside:
    """The apps without a door: nothing of them is heard outside of the process, whatever the gateway is open to."""

    def __init__(self, house: House) -> None:
        app = FastAPI(openapi_url=None)
        app.include_router(apps_router(house))
        app.router.routes.extend(static_mounts())
        install_problem_handlers(app)
        self._app: ASGIApp = Guard(app)

    async def ask(self, episode: Episode, method: str, target: str, body: bytes = b"") -> Page:
        """Ask for a page as the episode's own agent."""
        taken: list[StepObservation] = []

        async def as_agent(scope: Scope, receive: Receive, send: Send) -> None:
            await self._app({**scope, AGENT_SCOPE_KEY: episode, TAKEN_SCOPE_KEY: taken}, receive, send)

        transport: Any = httpx.ASGITransport(as_agent, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            request = client.build_request(method, target, content=body)
            if body:
                request.headers["Content-Type"] = "application/x-www-form-urlencoded"
            answer = await client.send(request)
        return Page(answer.status_code, tuple(answer.headers.multi_items()), answer.content, taken)
