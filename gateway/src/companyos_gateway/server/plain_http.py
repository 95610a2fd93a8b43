"""Stateful plain HTTP beside the WebSocket, at two kinds of addresses: five lines of `requests` run an episode.

`/v1/episodes/{episode_id}/...` names the episode in the path; `/reset`, `/step`, `/state` and `/render`, OpenEnv's own
names, take it with the request.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from companyos.contract import CompanyOSState, ResetOptions
from companyos_gateway.server import playing
from companyos_gateway.server.documented import DOCUMENTED_PROBLEMS
from companyos_gateway.server.envelopes import ResetAnswer, StepAnswer, StepBody, StepRequest, body_of, step_asked
from companyos_gateway.server.guard import JSON_SCOPE_KEY
from companyos_gateway.server.house import House
from companyos_gateway.server.queries import KNOWN_QUERIES
from companyos_gateway.viewer.rendering import Format, RenderedEpisode

_TEXT = {"schema": {"type": "string"}}
_PICTURE = {"image/png": {"schema": {"type": "string", "format": "binary"}}}
_RENDERINGS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": _TEXT, "text/html": _TEXT, **_PICTURE}}}

QueriedId = Annotated[str, Query(description="The id that the reset answered.", max_length=128)]
EpisodeId = Annotated[str, Path(description="The id that the reset answered.", max_length=128)]
Form = Annotated[
    Format,
    Query(description="`ansi` is `text` in colours; `html` is a page of its own; `png` the window, or else it."),
]


def episodes_router(house: House) -> APIRouter:
    """Return the routes that name an episode in their path."""
    router = APIRouter(
        prefix="/v1/episodes", responses=DOCUMENTED_PROBLEMS, tags=["Episode"], dependencies=KNOWN_QUERIES
    )

    @router.post("", status_code=201, response_model=ResetAnswer, openapi_extra=body_of(ResetOptions))
    async def create_episode(request: Request) -> Response:
        """Start an episode: `POST /reset` at an address of its own, which `Location` names.

        With `resume` nothing is created: the answer is 200, and tells what the live episode told last.
        """
        return await playing.begin(house, request, address="/v1/episodes/{episode_id}")

    @router.post("/{episode_id}/step", response_model=StepAnswer, openapi_extra=body_of(StepBody))
    async def step_episode(request: Request, episode_id: EpisodeId) -> Response:
        """Take one step: call one tool.

        An unknown tool, arguments that do not fit and refusals of a service are steps with an answer of 200. With
        `{"type": "list_tools"}` the tools are listed, which is no step.
        """
        return await playing.take(house, request, episode_id, step_asked(StepBody, request.scope[JSON_SCOPE_KEY]))

    @router.get("/{episode_id}/state")
    async def get_episode_state(episode_id: EpisodeId) -> CompanyOSState:
        """Read where an episode stands, as its trainer sees it."""
        return playing.read(house, episode_id)

    @router.get("/{episode_id}/render", response_model=RenderedEpisode, responses=_RENDERINGS)
    async def render_episode(request: Request, episode_id: EpisodeId, format: Form = Format.JSON) -> Response:
        """Read an episode the way people read it: the brief, the clock, every step so far and what the last answered.

        To the episode's own agent the rewards, the outcome and what the task was drawn from are left out.
        """
        return await playing.show(house, request, episode_id, format)

    return router


def plain_http_router(house: House) -> APIRouter:
    """Return the routes that are told the episode; they come before the framework's own of the same paths."""
    router = APIRouter(responses=DOCUMENTED_PROBLEMS, tags=["Episode"], dependencies=KNOWN_QUERIES)

    @router.post("/reset", response_model=ResetAnswer, openapi_extra=body_of(ResetOptions))
    async def reset(request: Request) -> Response:
        """Start an episode.

        Every option may be left out: a bare reset plays the default scenario with a seed of the house's choice, which
        `GET /state` tells.
        """
        return await playing.begin(house, request)

    @router.post("/step", response_model=StepAnswer, openapi_extra=body_of(StepRequest))
    async def step(request: Request) -> Response:
        """Take one step: call one tool.

        An unknown tool, arguments that do not fit and refusals of a service are steps with an answer of 200. With
        `{"type": "list_tools"}` the tools are listed, which is no step.
        """
        asked = step_asked(StepRequest, request.scope[JSON_SCOPE_KEY])
        return await playing.take(house, request, asked.episode_id, asked)

    @router.get("/state")
    async def state(episode_id: QueriedId) -> CompanyOSState:
        """Read where an episode stands, as its trainer sees it."""
        return playing.read(house, episode_id)

    @router.get("/render", response_model=RenderedEpisode, responses=_RENDERINGS)
    async def render(
        request: Request,
        episode_id: QueriedId,
        format: Form = Format.JSON,
        mode: Annotated[Format | None, Query(deprecated=True, description="What `format` was called.")] = None,
    ) -> Response:
        """Read an episode the way people read it: the brief, the clock and every step so far."""
        return await playing.show(house, request, episode_id, mode or format)

    return router
