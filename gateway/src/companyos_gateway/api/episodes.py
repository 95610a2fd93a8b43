"""Stateful plain HTTP beside the WebSocket, at two kinds of addresses: five lines of `requests` run an episode.

`/v1/episodes/{episode_id}/...` names the episode in the path; `/reset`, `/step`, `/state` and `/render`, OpenEnv's own
names, take it with the request.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from openenv.core.env_server.mcp_types import ListToolsAction

from companyos.contract import CompanyOSState, ResetOptions
from companyos_gateway.api.envelopes import (
    ResetAnswer,
    StepAnswer,
    StepBody,
    StepRequest,
    envelope,
    json_response,
    parse_action,
    parse_step,
    request_body_schema,
)
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.openenv_environment import reset_options
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine.observations import build_tools_observation
from companyos_gateway.middleware.auth import hide_outcome, is_trainer, requested_episode
from companyos_gateway.middleware.body_limit import JSON_SCOPE_KEY
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.viewer.rendering import Format, RenderedEpisode, describe_episode, render_html, render_terminal

CREATED, OK = 201, 200

_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}

_TEXT = {"schema": {"type": "string"}}
_PICTURE = {"image/png": {"schema": {"type": "string", "format": "binary"}}}
_RENDERINGS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": _TEXT, "text/html": _TEXT, **_PICTURE}}}

QueriedId = Annotated[str, Query(description="The id that the reset answered.", max_length=128)]
EpisodeId = Annotated[str, Path(description="The id that the reset answered.", max_length=128)]
Form = Annotated[
    Format,
    Query(description="`ansi` is `text` in colours; `html` is a page of its own; `png` the window, or else it."),
]


def episodes_router(runtime: GatewayRuntime) -> APIRouter:
    """Return the routes that name an episode in their path."""
    router = APIRouter(prefix="/v1/episodes", responses=ERROR_RESPONSES, tags=["Episode"], dependencies=STRICT_QUERY)

    @router.post("", status_code=201, response_model=ResetAnswer, openapi_extra=request_body_schema(ResetOptions))
    async def create_episode(request: Request) -> Response:
        """Start an episode: `POST /reset` at an address of its own, which `Location` names.

        With `resume` nothing is created: the answer is 200, and tells what the live episode told last.
        """
        return await start_episode(runtime, request, address="/v1/episodes/{episode_id}")

    @router.post("/{episode_id}/step", response_model=StepAnswer, openapi_extra=request_body_schema(StepBody))
    async def step_episode(request: Request, episode_id: EpisodeId) -> Response:
        """Take one step: call one tool.

        An unknown tool, arguments that do not fit and refusals of a service are steps with an answer of 200. With
        `{"type": "list_tools"}` the tools are listed, which does not count as a step.
        """
        return await run_step(runtime, request, episode_id, parse_step(StepBody, request.scope[JSON_SCOPE_KEY]))

    @router.get("/{episode_id}/state")
    async def get_episode_state(episode_id: EpisodeId) -> CompanyOSState:
        """Read where an episode stands, as its trainer sees it."""
        return read_state(runtime, episode_id)

    @router.get("/{episode_id}/render", response_model=RenderedEpisode, responses=_RENDERINGS)
    async def render_episode(request: Request, episode_id: EpisodeId, format: Form = Format.JSON) -> Response:
        """Read an episode the way people read it: the brief, the clock, every step so far and what the last answered.

        To the episode's own agent the rewards, the outcome and what the task was drawn from are left out.
        """
        return await render_episode_as(runtime, request, episode_id, format)

    return router


def openenv_http_router(runtime: GatewayRuntime) -> APIRouter:
    """Return the routes that are told the episode; they come before the framework's own of the same paths."""
    router = APIRouter(responses=ERROR_RESPONSES, tags=["Episode"], dependencies=STRICT_QUERY)

    @router.post("/reset", response_model=ResetAnswer, openapi_extra=request_body_schema(ResetOptions))
    async def reset(request: Request) -> Response:
        """Start an episode.

        Every option is optional: an empty body plays the default scenario with a random seed, which
        `GET /state` tells.
        """
        return await start_episode(runtime, request)

    @router.post("/step", response_model=StepAnswer, openapi_extra=request_body_schema(StepRequest))
    async def step(request: Request) -> Response:
        """Take one step: call one tool.

        An unknown tool, arguments that do not fit and refusals of a service are steps with an answer of 200. With
        `{"type": "list_tools"}` the tools are listed, which does not count as a step.
        """
        step = parse_step(StepRequest, request.scope[JSON_SCOPE_KEY])
        return await run_step(runtime, request, step.episode_id, step)

    @router.get("/state")
    async def state(episode_id: QueriedId) -> CompanyOSState:
        """Read where an episode stands, as its trainer sees it."""
        return read_state(runtime, episode_id)

    @router.get("/render", response_model=RenderedEpisode, responses=_RENDERINGS)
    async def render(
        request: Request,
        episode_id: QueriedId,
        format: Form = Format.JSON,
        mode: Annotated[Format | None, Query(deprecated=True, description="What `format` was called.")] = None,
    ) -> Response:
        """Read an episode the way people read it: the brief, the clock and every step so far."""
        return await render_episode_as(runtime, request, episode_id, mode or format)

    return router


async def start_episode(runtime: GatewayRuntime, request: Request, *, address: str | None = None) -> Response:
    """Start an episode as the body asks; where `address` is given it leads to the episode, and one is created there.

    Raises what `GatewayRuntime.reset` raises.
    """
    options = reset_options(request.scope[JSON_SCOPE_KEY])
    episode = await runtime.reset(options)
    content = envelope(await runtime.last_observation(episode), episode_id=episode.id, token=episode.token)
    if address is None:
        return json_response(content)
    location = f"{request.scope.get('root_path', '')}{address.format(episode_id=episode.id)}"
    return json_response(content, OK if options.resume else CREATED, Location=location)


async def run_step(runtime: GatewayRuntime, request: Request, episode_id: str, step: StepBody) -> Response:
    """Take a step of an episode, or list its tools.

    Raises UnknownEpisodeError (404) and what `EpisodeEngine.step` raises.
    """
    engine = runtime.engine()
    action = parse_action(step.action)
    episode = requested_episode(request, engine.store, episode_id)
    if isinstance(action, ListToolsAction):
        return json_response(envelope(build_tools_observation(engine.tools(episode), done=episode.done)))
    with hide_outcome(request):
        observation = await runtime.step(episode, action.tool_name, action.arguments, number=step.step)
    return json_response(envelope(observation))


def read_state(runtime: GatewayRuntime, episode_id: str) -> CompanyOSState:
    """Return where an episode stands, as its trainer sees it; raises UnknownEpisodeError (404)."""
    return runtime.engine().store.get(episode_id).state()


async def render_episode_as(runtime: GatewayRuntime, request: Request, episode_id: str, form: Format) -> Response:
    """Return an episode the way people read it; its own agent is shown no rewards.

    Raises UnknownEpisodeError (404), and for a picture what `WindowManager.render_png` raises.
    """
    episode = requested_episode(request, runtime.engine().store, episode_id)
    shown = describe_episode(episode, with_rewards=is_trainer(request))
    if form is Format.PNG:
        return Response(await runtime.window_manager.render_png(episode, render_html(shown)), media_type="image/png")
    if form is Format.JSON:
        return Response(shown.model_dump_json(), media_type="application/json")
    if form is Format.HTML:
        return HTMLResponse(render_html(shown), headers=_PAGE_HEADERS)
    return PlainTextResponse(render_terminal(shown, colour=form is Format.ANSI))
