"""The doors of the console: the trainer's own, in a browser."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from companyos.contract import Outcome
from companyos_gateway.episode.episode import VERSION, Episode
from companyos_gateway.episode.errors import GatewayProblem
from companyos_gateway.server.apps.paths import root_of
from companyos_gateway.server.browsing import SEE_OTHER, shown, signed_in, signed_out, submitted
from companyos_gateway.server.console.compare_doors import compare_router
from companyos_gateway.server.console.episodes import OVER, RUNNING, listed
from companyos_gateway.server.console.paths import COOKIE, END, ROOT, SIGN_OUT, START
from companyos_gateway.server.console.result_doors import results_router
from companyos_gateway.server.console.scenario_doors import scenarios_router
from companyos_gateway.server.console.showing import Asked, Cut, choices, page, prefix_of, root_path_of
from companyos_gateway.server.console.viewer_doors import viewer_router
from companyos_gateway.server.drain import Drain
from companyos_gateway.server.house import House
from companyos_gateway.server.openenv_environment import reset_options
from companyos_shared.pages import Said


def console_router(house: House, drain: Drain) -> APIRouter:
    """Return the console. It is for browsers, so refusals are pages as well."""
    router = APIRouter(include_in_schema=False)

    @router.get(ROOT)
    @router.get(f"{ROOT}/")
    async def console(request: Request, token: Annotated[str | None, Query(max_length=200)] = None) -> Response:
        if token is not None:
            return signed_in(request, house.sessions, prefix_of(request), COOKIE)
        return await shown(partial(_listed, house, request))

    @router.post(START)
    async def start(request: Request) -> Response:
        return await shown(partial(_started, house, request))

    @router.post(SIGN_OUT)
    async def sign_out(request: Request) -> Response:
        return signed_out(request, house.sessions, prefix_of(request), COOKIE)

    @router.post(END)
    async def end(request: Request) -> Response:
        return await shown(partial(_ended, house, request))

    for more in (viewer_router(house, drain), compare_router(house), results_router(house), scenarios_router(house)):
        router.routes.extend(more.routes)
    return router


async def _listed(house: House, request: Request) -> Response:
    return _console(house, request)


async def _started(house: House, request: Request) -> Response:
    """Start an episode and lead to its desk; a refusal stands on the form."""
    form = submitted(request)
    try:
        episode = await house.begin(reset_options(dict(form.arguments)))
    except GatewayProblem as problem:
        said = Said(operation="start", form=form.form, problem=problem.body(), typed=form.typed)
        return _console(house, request, said, problem.status)
    return RedirectResponse(_desk_of(root_path_of(request), episode), SEE_OTHER)


async def _ended(house: House, request: Request) -> Response:
    """Free an episode. Raises UnknownEpisodeError (404)."""
    store = house.stage().store
    store.free(store.get(str(submitted(request).arguments.get("episode_id", ""))))
    return RedirectResponse(prefix_of(request), SEE_OTHER)


def _console(house: House, request: Request, said: Said | None = None, status: int = 200) -> Response:
    stage, asked = house.stage(), Asked(request, "state", "scenario", "outcome", "chaos")
    lines = list(listed(stage, house.watch))
    found = [
        one for one in lines if asked.fits(state=one.state, scenario=one.scenario, outcome=one.outcome, chaos=one.chaos)
    ]
    return page(
        request,
        "console.html",
        "episodes",
        said=said,
        status=status,
        cut=Cut(found, asked),
        running=sum(one.outcome is None for one in lines),
        kept=house.settings.max_finished,
        desk=partial(_desk_of, root_path_of(request)),
        states=[RUNNING, OVER],
        outcomes=list(Outcome),
        version=VERSION,
        can_sign_out=COOKIE in request.cookies,
        **choices(stage),
    )


def _desk_of(root_path: str, episode: Episode) -> str:
    """Return the way to an episode's desk, with the token that opens it."""
    return f"{root_of(episode.id, root_path)}?token={quote(episode.token, safe='')}"
