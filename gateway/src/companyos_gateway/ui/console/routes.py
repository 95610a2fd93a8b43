"""Routes of the trainer's console."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import RedirectResponse, Response

from companyos.contract import Outcome
from companyos_gateway.api.openenv_environment import reset_options
from companyos_gateway.engine.episode import VERSION, Episode
from companyos_gateway.engine.errors import GatewayError
from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.page_paths import (
    CONSOLE_END,
    CONSOLE_ROOT,
    CONSOLE_SIGN_OUT,
    CONSOLE_START,
    TRAINER_COOKIE,
    desk_root,
)
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.console.base_view import (
    ListPage,
    ListQuery,
    prefix_of,
    render_page,
    root_path_of,
    start_options,
)
from companyos_gateway.ui.console.compare_routes import compare_router
from companyos_gateway.ui.console.episode_list import OVER, RUNNING, list_episodes
from companyos_gateway.ui.console.result_routes import results_router
from companyos_gateway.ui.console.scenario_routes import scenarios_router
from companyos_gateway.ui.console.viewer_routes import viewer_router
from companyos_gateway.ui.page_requests import SEE_OTHER, begin_session, end_session, page_or_error, submitted
from companyos_shared.pages import FormResult
from companyos_shared.web.lazy_routes import LazyRouter


def console_router(runtime: GatewayRuntime, drain: DrainState) -> LazyRouter:
    """Return the routes of the console. Errors are HTML pages as well."""
    router = LazyRouter(include_in_schema=False)

    @router.get(CONSOLE_ROOT)
    @router.get(f"{CONSOLE_ROOT}/")
    async def console(request: Request, token: Annotated[str | None, Query(max_length=200)] = None) -> Response:
        if token is not None:
            return begin_session(request, runtime.sessions, prefix_of(request), TRAINER_COOKIE)
        return await page_or_error(partial(_show_episodes, runtime, request))

    @router.post(CONSOLE_START)
    async def start(request: Request) -> Response:
        return await page_or_error(partial(_start_episode, runtime, request))

    @router.post(CONSOLE_SIGN_OUT)
    async def sign_out(request: Request) -> Response:
        return end_session(request, runtime.sessions, prefix_of(request), TRAINER_COOKIE)

    @router.post(CONSOLE_END)
    async def end(request: Request) -> Response:
        return await page_or_error(partial(_end_episode, runtime, request))

    for subrouter in (
        viewer_router(runtime, drain),
        compare_router(runtime),
        results_router(runtime),
        scenarios_router(runtime),
    ):
        router.routes.extend(subrouter.routes)
    return router


async def _start_episode(runtime: GatewayRuntime, request: Request) -> Response:
    """Start an episode and redirect to its desk, or show the error on the form."""
    form = submitted(request)
    try:
        episode = await runtime.reset(reset_options(dict(form.arguments)))
    except GatewayError as problem:
        form_error = FormResult(operation="start", form=form.form, problem=problem.body(), typed=form.typed)
        return await _show_episodes(runtime, request, form_error, problem.status)
    return RedirectResponse(_desk_url(root_path_of(request), episode), SEE_OTHER)


async def _end_episode(runtime: GatewayRuntime, request: Request) -> Response:
    """End an episode and free its resources; raises the errors of `EpisodeStore.delete`."""
    runtime.engine().store.delete(str(submitted(request).arguments.get("episode_id", "")))
    return RedirectResponse(prefix_of(request), SEE_OTHER)


async def _show_episodes(
    runtime: GatewayRuntime, request: Request, form_error: FormResult | None = None, status: int = 200
) -> Response:
    engine, query = runtime.engine(), ListQuery(request, "state", "scenario", "outcome", "chaos")
    items = list(list_episodes(engine, runtime.metrics))
    matching = [
        item
        for item in items
        if query.matches(state=item.state, scenario=item.scenario, outcome=item.outcome, chaos=item.chaos)
    ]
    return render_page(
        request,
        "console.html",
        "episodes",
        form_error=form_error,
        status=status,
        list_page=ListPage(matching, query),
        running=sum(item.outcome is None for item in items),
        kept=runtime.settings.max_finished,
        desk=partial(_desk_url, root_path_of(request)),
        states=[RUNNING, OVER],
        outcomes=list(Outcome),
        version=VERSION,
        worker=runtime.settings.worker,
        worker_count=1 if runtime.settings.worker is None else runtime.settings.workers,
        can_sign_out=TRAINER_COOKIE in request.cookies,
        **start_options(engine),
    )


def _desk_url(root_path: str, episode: Episode) -> str:
    """Return the URL of an episode's desk with the episode token."""
    return f"{desk_root(episode.id, root_path)}?token={quote(episode.token, safe='')}"
