"""The doors of the console: the trainer's own, in a browser."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from companyos.contract import Toolset
from companyos_gateway.chaos import levels
from companyos_gateway.episode.episode import VERSION, Episode
from companyos_gateway.episode.errors import GatewayProblem
from companyos_gateway.server.apps.paths import root_of
from companyos_gateway.server.browsing import SEE_OTHER, remembered, shown, submitted
from companyos_gateway.server.console.paths import COOKIE, END, ROOT, SCENARIOS, START
from companyos_gateway.server.house import House
from companyos_gateway.server.openenv_environment import reset_options
from companyos_shared.pages import HEADERS, Said, Shell, Templates

_TEMPLATES = Templates("companyos_gateway.server.console")
MOST_SHOWN = 100
"""Episodes on the page; a house may hold thousands."""


def console_router(house: House) -> APIRouter:
    """Return the console. It is for browsers, so refusals are pages as well."""
    router = APIRouter(include_in_schema=False)

    @router.get(ROOT)
    @router.get(f"{ROOT}/")
    async def console(request: Request, token: Annotated[str | None, Query(max_length=200)] = None) -> Response:
        if token is not None:
            return remembered(_prefix(request), COOKIE, token)
        return await shown(partial(_listed, house, request))

    @router.get(SCENARIOS)
    async def scenarios(request: Request) -> Response:
        return await shown(partial(_catalogue, house, request))

    @router.post(START)
    async def start(request: Request) -> Response:
        return await shown(partial(_started, house, request))

    @router.post(END)
    async def end(request: Request) -> Response:
        return await shown(partial(_ended, house, request))

    return router


async def _listed(house: House, request: Request) -> Response:
    return _console(house, _prefix(request))


async def _catalogue(house: House, request: Request) -> Response:
    found = {name: inspect.getdoc(one) or "" for name, one in sorted(house.stage().scenarios.items())}
    return _page("scenarios.html", _shell(_prefix(request)), scenarios=found)


async def _started(house: House, request: Request) -> Response:
    """Start an episode and lead to its desk; a refusal stands on the form."""
    form = submitted(request)
    try:
        episode = await house.begin(reset_options(dict(form.arguments)))
    except GatewayProblem as problem:
        said = Said(operation="start", form=form.form, problem=problem.body(), typed=form.typed)
        return _console(house, _prefix(request), said, problem.status)
    return RedirectResponse(_desk_of(request.scope.get("root_path", ""), episode), SEE_OTHER)


async def _ended(house: House, request: Request) -> Response:
    """Free an episode. Raises UnknownEpisode (404)."""
    store = house.stage().store
    store.free(store.get(str(submitted(request).arguments.get("episode_id", ""))))
    return RedirectResponse(_prefix(request), SEE_OTHER)


def _console(house: House, prefix: str, said: Said | None = None, status: int = 200) -> Response:
    stage = house.stage()
    live = sorted(stage.store, key=lambda episode: -episode.used_at)
    return _page(
        "console.html",
        _shell(prefix, said),
        status,
        episodes=[(episode, episode.state()) for episode in live[:MOST_SHOWN]],
        total=len(live),
        desk=lambda episode: _desk_of(prefix.removesuffix(ROOT), episode),
        scenarios=sorted(stage.scenarios),
        levels=list(levels()),
        toolsets=list(Toolset),
        version=VERSION,
    )


def _page(template: str, shell: Shell, status: int = 200, **values: object) -> Response:
    return HTMLResponse(_TEMPLATES.write(template, shell, **values), status_code=status, headers=HEADERS)


def _shell(prefix: str, said: Said | None = None) -> Shell:
    return Shell(app="console", title="CompanyOS console", prefix=prefix, said=said)


def _prefix(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}{ROOT}"


def _desk_of(root_path: str, episode: Episode) -> str:
    """Return the way to an episode's desk, with the token that opens it."""
    return f"{root_of(episode.id, root_path)}?token={quote(episode.token, safe='')}"
