"""The doors of comparing: two episodes side by side, live, over or of runs, or one of each."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from companyos.viewer import RunDocument
from companyos_gateway.episode.errors import InvalidAction
from companyos_gateway.server.browsing import SEE_OTHER, shown
from companyos_gateway.server.console.episodes import listed
from companyos_gateway.server.console.paths import COMPARE
from companyos_gateway.server.console.referring import facts_for
from companyos_gateway.server.console.showing import ROWS, page, prefix_of, told, viewer
from companyos_gateway.server.house import House

Refs = Annotated[list[str] | None, Query(alias="episode")]


class NotTwo(InvalidAction):
    status, code, title = 422, "not-two-episodes", "Two different episodes are compared"


def compare_router(house: House) -> APIRouter:
    """Return the doors of comparing."""
    router = APIRouter(include_in_schema=False)

    @router.get(COMPARE)
    async def compare(request: Request, refs: Refs = None) -> Response:
        return await shown(partial(_chosen, house, request, refs or []))

    @router.get(f"{COMPARE}/two")
    async def two(request: Request, refs: Refs = None) -> Response:
        return await shown(partial(_two, house, request, refs or []))

    @router.get(f"{COMPARE}/run")
    async def run(request: Request, refs: Refs = None) -> Response:
        return told(await _run_of(house, request, refs or []))

    return router


async def _chosen(house: House, request: Request, refs: list[str]) -> Response:
    """Lead to two episodes side by side; with one, show what it can be compared with. Raises as `_run_of`."""
    if len(refs) == 1:
        chosen = await facts_for(house, request, refs[0])
        others = [one for one in listed(house.stage(), house.watch) if one.ref != refs[0]]
        others.sort(key=lambda one: (one.scenario, one.seed) != (chosen.scenario, chosen.seed))
        return page(request, "compare.html", "episodes", chosen=chosen, ref=refs[0], others=others[:ROWS])
    names = [facts.name for facts in (await _run_of(house, request, refs)).episodes]
    anchor = urlencode({"episode": names[0], "with": names[1]}, quote_via=quote)
    return RedirectResponse(f"{prefix_of(request)}/compare/two?{_asked(refs)}#{anchor}", SEE_OTHER)


async def _two(house: House, request: Request, refs: list[str]) -> Response:
    await _run_of(house, request, refs)
    return viewer(request, "Two episodes", {"run": f"{prefix_of(request)}/compare/run?{_asked(refs)}"})


async def _run_of(house: House, request: Request, refs: list[str]) -> RunDocument:
    """Return two episodes as a run. Raises NotTwo (422), UnknownEpisodeError or UnknownRun (404)."""
    if len(refs) != 2 or refs[0] == refs[1]:
        raise NotTwo(f"{len(set(refs))} were chosen.")
    return RunDocument(title="Two episodes", episodes=[await facts_for(house, request, ref) for ref in refs])


def _asked(refs: list[str]) -> str:
    return urlencode([("episode", ref) for ref in refs])
