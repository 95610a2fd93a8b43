"""Episode routes over HTTP, as an alternative to the WebSocket.

`/v1/episodes/{episode_id}/...` takes the episode id in the path. `/reset`, `/step`, `/state` and `/render`, the names
that OpenEnv uses, take it in the query or in the body.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from openenv.core.env_server.mcp_types import ListToolsAction

from companyos.contract import CompanyOSState, ResetOptions
from companyos_gateway.api.envelopes import (
    ResetResponse,
    StepBody,
    StepRequest,
    StepResponse,
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
from companyos_gateway.viewer.rendering.html_page import render_html
from companyos_gateway.viewer.rendering.summary import Format, RenderedEpisode, describe_episode
from companyos_gateway.viewer.rendering.terminal import render_terminal
from companyos_shared.web.lazy_routes import LazyRouter

CREATED, OK = 201, 200

_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}

_TEXT = {"schema": {"type": "string"}}
_IMAGE = {"image/png": {"schema": {"type": "string", "format": "binary"}}}
_RENDERINGS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": _TEXT, "text/html": _TEXT, **_IMAGE}}}

EpisodeIdQuery = Annotated[str, Query(description="ID of the episode, from the response of the reset.", max_length=128)]
EpisodeId = Annotated[str, Path(description="ID of the episode, from the response of the reset.", max_length=128)]
FormatQuery = Annotated[
    Format,
    Query(description="Response format. `ansi` is `text` with colours, `html` a single page, `png` a screenshot."),
]


def episodes_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the routes with the episode id in the path."""
    router = LazyRouter(prefix="/v1/episodes", responses=ERROR_RESPONSES, tags=["Episode"], dependencies=STRICT_QUERY)

    @router.post("", status_code=201, response_model=ResetResponse, openapi_extra=request_body_schema(ResetOptions))
    async def create_episode(request: Request) -> Response:
        """Start an episode.

        Takes the options of `POST /reset` and returns the address of the episode in the `Location` header. With
        `resume`, no episode is created: the response has status 200 and contains the episode's last observation.
        """
        return await start_episode(runtime, request, address="/v1/episodes/{episode_id}")

    @router.post("/{episode_id}/step", response_model=StepResponse, openapi_extra=request_body_schema(StepBody))
    async def step_episode(request: Request, episode_id: EpisodeId) -> Response:
        """Take one step by calling a tool.

        Unknown tools, invalid arguments and rejections by a service also count as steps and return 200, with the error
        in the observation. The action `{"type": "list_tools"}` lists the tools without taking a step.
        """
        return await run_step(runtime, request, episode_id, parse_step(StepBody, request.scope[JSON_SCOPE_KEY]))

    @router.get("/{episode_id}/state")
    async def get_episode_state(episode_id: EpisodeId) -> CompanyOSState:
        """Get the state of an episode. Requires the trainer token."""
        return read_state(runtime, episode_id)

    @router.get("/{episode_id}/render", response_model=RenderedEpisode, responses=_RENDERINGS)
    async def render_episode(request: Request, episode_id: EpisodeId, format: FormatQuery = Format.JSON) -> Response:
        """Render an episode for people.

        The response contains the brief, the simulated time, all steps and the result of the last call. With an episode
        token, it omits rewards, outcome, scenario, seed and chaos level.
        """
        return await render_episode_as(runtime, request, episode_id, format)

    return router


def openenv_http_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the routes with OpenEnv's names. Include them before the framework's routes of the same paths."""
    router = LazyRouter(responses=ERROR_RESPONSES, tags=["Episode"], dependencies=STRICT_QUERY)

    @router.post("/reset", response_model=ResetResponse, openapi_extra=request_body_schema(ResetOptions))
    async def reset(request: Request) -> Response:
        """Start an episode.

        All options are optional. Without options, the gateway plays the default scenario with a random seed, which
        `GET /state` returns.
        """
        return await start_episode(runtime, request)

    @router.post("/step", response_model=StepResponse, openapi_extra=request_body_schema(StepRequest))
    async def step(request: Request) -> Response:
        """Take one step by calling a tool.

        Unknown tools, invalid arguments and rejections by a service also count as steps and return 200, with the error
        in the observation. The action `{"type": "list_tools"}` lists the tools without taking a step.
        """
        step = parse_step(StepRequest, request.scope[JSON_SCOPE_KEY])
        return await run_step(runtime, request, step.episode_id, step)

    @router.get("/state")
    async def state(episode_id: EpisodeIdQuery) -> CompanyOSState:
        """Get the state of an episode. Requires the trainer token."""
        return read_state(runtime, episode_id)

    @router.get("/render", response_model=RenderedEpisode, responses=_RENDERINGS)
    async def render(
        request: Request,
        episode_id: EpisodeIdQuery,
        format: FormatQuery = Format.JSON,
        mode: Annotated[Format | None, Query(deprecated=True, description="Former name of `format`.")] = None,
    ) -> Response:
        """Render an episode for people, with the brief, the simulated time and all steps."""
        return await render_episode_as(runtime, request, episode_id, mode or format)

    return router


async def start_episode(runtime: GatewayRuntime, request: Request, *, address: str | None = None) -> Response:
    """Start an episode with the options in the body.

    Raises the errors of `GatewayRuntime.reset` and `GatewayRuntime.last_observation`; no episode is then started.

    With `address`, the template of the episode's path, the response has a `Location` header and status 201, or 200 for
    a resumed episode.
    """
    options = reset_options(request.scope[JSON_SCOPE_KEY])
    episode = await runtime.reset(options)
    try:
        observation = await runtime.last_observation(episode)
    except Exception:
        if options.resume is None:
            runtime.engine().store.free(episode)
        raise
    content = envelope(observation, episode_id=episode.id, token=episode.token)
    if address is None:
        return json_response(content)
    location = f"{request.scope.get('root_path', '')}{address.format(episode_id=episode.id)}"
    return json_response(content, OK if options.resume else CREATED, Location=location)


async def run_step(runtime: GatewayRuntime, request: Request, episode_id: str, step: StepBody) -> Response:
    """Take a step of an episode, or list its tools.

    Raises UnknownEpisodeError (404) and the errors of `EpisodeEngine.step`.
    """
    engine = runtime.engine()
    action = parse_action(step.action)
    episode = requested_episode(request, engine.store, episode_id)
    if isinstance(action, ListToolsAction):
        tools = build_tools_observation(engine.tools(episode), done=episode.done)
        return json_response(envelope(tools, with_reward=is_trainer(request)))
    with hide_outcome(request):
        observation = await runtime.step(episode, action.tool_name, action.arguments, number=step.step)
    return json_response(envelope(observation, with_reward=is_trainer(request)))


def read_state(runtime: GatewayRuntime, episode_id: str) -> CompanyOSState:
    """Return the state of an episode for its trainer; raises UnknownEpisodeError (404)."""
    return runtime.engine().store.get(episode_id).state()


async def render_episode_as(runtime: GatewayRuntime, request: Request, episode_id: str, format: Format) -> Response:
    """Render an episode in one of the formats, without rewards for the episode's agent.

    Raises UnknownEpisodeError (404), and for PNG the errors of `WindowManager.render_png`.
    """
    episode = requested_episode(request, runtime.engine().store, episode_id)
    rendered = describe_episode(episode, with_rewards=is_trainer(request))
    if format is Format.PNG:
        return Response(await runtime.window_manager.render_png(episode, render_html(rendered)), media_type="image/png")
    if format is Format.JSON:
        return Response(rendered.model_dump_json(), media_type="application/json")
    if format is Format.HTML:
        return HTMLResponse(render_html(rendered), headers=_PAGE_HEADERS)
    return PlainTextResponse(render_terminal(rendered, colour=format is Format.ANSI))
