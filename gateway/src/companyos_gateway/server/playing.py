"""What can be done with an episode over plain HTTP; every door that leads to it, by address or by body, comes here."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from openenv.core.env_server.mcp_types import ListToolsAction

from companyos.contract import CompanyOSState
from companyos_gateway.engine.observations import build_tools_observation
from companyos_gateway.server.envelopes import StepBody, action_of, envelope, json_response
from companyos_gateway.server.guard import JSON_SCOPE_KEY
from companyos_gateway.server.house import House
from companyos_gateway.server.openenv_environment import reset_options
from companyos_gateway.server.planes import episode_asked_for, is_trainer, without_outcome
from companyos_gateway.viewer.rendering import Format, describe_episode, render_html, render_terminal

CREATED, OK = 201, 200

_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


async def begin(house: House, request: Request, *, address: str | None = None) -> Response:
    """Start an episode as the body asks; where `address` is given it leads to the episode, and one is created there.

    Raises what `House.begin` raises.
    """
    options = reset_options(request.scope[JSON_SCOPE_KEY])
    episode = await house.begin(options)
    content = envelope(await house.told(episode), episode_id=episode.id, token=episode.token)
    if address is None:
        return json_response(content)
    location = f"{request.scope.get('root_path', '')}{address.format(episode_id=episode.id)}"
    return json_response(content, OK if options.resume else CREATED, Location=location)


async def take(house: House, request: Request, episode_id: str, asked: StepBody) -> Response:
    """Take a step of an episode, or list its tools; raises what `EpisodeEngine.step` raises, and UnknownEpisodeError (404)."""
    engine = house.engine()
    action = action_of(asked.action)
    episode = episode_asked_for(request, engine.store, episode_id)
    if isinstance(action, ListToolsAction):
        return json_response(envelope(build_tools_observation(engine.tools(episode), done=episode.done)))
    with without_outcome(request):
        taken = await house.step(episode, action.tool_name, action.arguments, number=asked.step)
    return json_response(envelope(taken))


def read(house: House, episode_id: str) -> CompanyOSState:
    """Return where an episode stands, as its trainer sees it; raises UnknownEpisodeError (404)."""
    return house.engine().store.get(episode_id).state()


async def show(house: House, request: Request, episode_id: str, form: Format) -> Response:
    """Return an episode the way people read it; its own agent is shown no rewards.

    Raises UnknownEpisodeError (404), and for a picture what `WindowManager.render_png` raises.
    """
    episode = episode_asked_for(request, house.engine().store, episode_id)
    shown = describe_episode(episode, with_rewards=is_trainer(request))
    if form is Format.PNG:
        return Response(await house.window_manager.render_png(episode, render_html(shown)), media_type="image/png")
    if form is Format.JSON:
        return Response(shown.model_dump_json(), media_type="application/json")
    if form is Format.HTML:
        return HTMLResponse(render_html(shown), headers=_PAGE_HEADERS)
    return PlainTextResponse(render_terminal(shown, colour=form is Format.ANSI))
