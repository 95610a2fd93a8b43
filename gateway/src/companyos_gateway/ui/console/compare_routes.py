"""Routes that compare two episodes, each live, finished or from a run."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import Query, Request
from fastapi.responses import RedirectResponse, Response

from companyos.viewer import RunDocument
from companyos_gateway.engine.errors import InvalidActionError
from companyos_gateway.page_paths import CONSOLE_COMPARE
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.console.base_view import (
    ROWS_PER_PAGE,
    document_response,
    prefix_of,
    render_page,
    render_viewer,
)
from companyos_gateway.ui.console.episode_list import list_episodes
from companyos_gateway.ui.console.episode_ref import load_facts
from companyos_gateway.ui.page_requests import SEE_OTHER, page_or_error
from companyos_shared.web.lazy_routes import LazyRouter

Refs = Annotated[list[str] | None, Query(alias="episode")]


class EpisodePairError(InvalidActionError):
    status, code, title = 422, "not-two-episodes", "Two different episodes required"


def compare_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the comparison routes."""
    router = LazyRouter(include_in_schema=False)

    @router.get(CONSOLE_COMPARE)
    async def compare(request: Request, refs: Refs = None) -> Response:
        return await page_or_error(partial(_compare, runtime, request, refs or []))

    @router.get(f"{CONSOLE_COMPARE}/two")
    async def two(request: Request, refs: Refs = None) -> Response:
        return await page_or_error(partial(_side_by_side, runtime, request, refs or []))

    @router.get(f"{CONSOLE_COMPARE}/run")
    async def run(request: Request, refs: Refs = None) -> Response:
        return document_response(await _pair_document(runtime, request, refs or []))

    return router


async def _compare(runtime: GatewayRuntime, request: Request, refs: list[str]) -> Response:
    """Redirect to the comparison of two episodes, or with one, list candidates; raises like `_pair_document`."""
    if len(refs) == 1:
        chosen = await load_facts(runtime, request, refs[0])
        others = [item for item in list_episodes(runtime.engine(), runtime.metrics) if item.ref != refs[0]]
        others.sort(key=lambda item: (item.scenario, item.seed) != (chosen.scenario, chosen.seed))
        return render_page(
            request, "compare.html", "episodes", chosen=chosen, ref=refs[0], others=others[:ROWS_PER_PAGE]
        )
    names = [facts.name for facts in (await _pair_document(runtime, request, refs)).episodes]
    anchor = urlencode({"episode": names[0], "with": names[1]}, quote_via=quote)
    return RedirectResponse(f"{prefix_of(request)}/compare/two?{_query_string(refs)}#{anchor}", SEE_OTHER)


async def _side_by_side(runtime: GatewayRuntime, request: Request, refs: list[str]) -> Response:
    await _pair_document(runtime, request, refs)
    return render_viewer(request, "Comparison", {"run": f"{prefix_of(request)}/compare/run?{_query_string(refs)}"})


async def _pair_document(runtime: GatewayRuntime, request: Request, refs: list[str]) -> RunDocument:
    """Return a run document of two episodes.

    Raises EpisodePairError (422), UnknownEpisodeError or UnknownRunError (404).
    """
    if len(refs) != 2 or refs[0] == refs[1]:
        raise EpisodePairError(f"episode must be given for two different episodes; got {len(set(refs))}")
    return RunDocument(title="Comparison", episodes=[await load_facts(runtime, request, ref) for ref in refs])


def _query_string(refs: list[str]) -> str:
    return urlencode([("episode", ref) for ref in refs])
