"""In-process HTTP client for the pages of an episode, authenticated as its agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.types import ASGIApp

from companyos_gateway.browser.app_urls import ORIGIN
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.observations import StepObservation

AppForEpisode = Callable[[Episode, list[StepObservation]], ASGIApp]
"""Returns the app of an episode's pages; it appends the steps that a request takes to the list."""


@dataclass(frozen=True, slots=True)
class AppResponse:
    """A response to a window and the steps that the request took."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    steps: list[StepObservation] = field(default_factory=list)


class AsgiClient:
    """Sends requests to the app of an episode's pages without a network connection."""

    def __init__(self, app_for_episode: AppForEpisode) -> None:
        self._app_for_episode = app_for_episode

    async def fetch(self, episode: Episode, method: str, target: str, body: bytes = b"") -> AppResponse:
        """Send a request as the agent of the episode."""
        steps: list[StepObservation] = []
        transport: Any = httpx.ASGITransport(self._app_for_episode(episode, steps), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            request = client.build_request(method, target, content=body)
            if body:
                request.headers["Content-Type"] = "application/x-www-form-urlencoded"
            response = await client.send(request)
        return AppResponse(response.status_code, tuple(response.headers.multi_items()), response.content, steps)
