"""Routes of the apps: pages come from their service, each submitted form is a step."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import parse_qsl, quote, unquote

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos.contract import FinishOutcome
from companyos_gateway.browser.asgi_client import AppForEpisode
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError, UnknownServiceError
from companyos_gateway.engine.inspection import PageAccess, fetch_page
from companyos_gateway.engine.observations import StepObservation, problem_of
from companyos_gateway.engine.toolbox import FINISH, WAIT
from companyos_gateway.middleware.auth import (
    AGENT_SCOPE_KEY,
    TRAINER_SCOPE_KEY,
    hide_outcome,
    is_trainer,
    requested_episode,
)
from companyos_gateway.middleware.body_limit import BodyLimitMiddleware
from companyos_gateway.middleware.error_responses import PROBLEM_HEADER, install_error_handlers
from companyos_gateway.page_paths import (
    APP_FORM,
    APP_PAGE,
    DESK_APP,
    DESK_FORM,
    DESK_OPEN,
    DESK_ROOT,
    EPISODE_COOKIE,
    STEPS_SCOPE_KEY,
    desk_root,
    viewer_path,
)
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios.shift_features import QUEUE_TAG
from companyos_gateway.ui.desk.service_pages import build_page_call, build_shell
from companyos_gateway.ui.home import static_mounts
from companyos_gateway.ui.page_requests import SEE_OTHER, begin_session, page_or_error, submitted
from companyos_shared.pages import HEADERS, FormResult, Shell, Templates, result_of_query
from companyos_shared.web.lazy_routes import LazyRouter
from companyos_shared.wire.company import ReasonCode
from companyos_shared.wire.problem import ProblemBody


class UnknownObjectError(GatewayError):
    status, code, title = 404, "unknown-object", "Object not found"


_TEMPLATES = Templates("companyos_gateway.ui.desk")
_EPISODE_TOOLS = frozenset({WAIT, FINISH})
_JSON = b"{"
_OBJECT_ID = re.compile(r"[\w-]{1,64}")


def desk_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the routes of the apps. Errors are HTML pages as well."""
    router = LazyRouter(include_in_schema=False)

    @router.get(DESK_ROOT)
    @router.get(f"{DESK_ROOT}/")
    async def desk(
        request: Request, episode_id: str, token: Annotated[str | None, Query(max_length=200)] = None
    ) -> Response:
        root = desk_root(episode_id, request.scope.get("root_path", ""))
        if token is not None:
            return begin_session(request, runtime.sessions, root, EPISODE_COOKIE)
        return await _respond(runtime, request, episode_id, lambda visit: visit.desk())

    @router.get(DESK_OPEN)
    async def open_object(
        request: Request, episode_id: str, object_id: Annotated[str, Query(alias="id", max_length=64)] = ""
    ) -> Response:
        return await _respond(runtime, request, episode_id, lambda visit: visit.open(object_id.strip()))

    @router.post(DESK_FORM)
    async def own_form(request: Request, episode_id: str, tool: str) -> Response:
        return await _respond(runtime, request, episode_id, lambda visit: visit.submit("", tool))

    @router.get(DESK_APP)
    async def app(request: Request, episode_id: str, service: str) -> Response:
        root = desk_root(episode_id, request.scope.get("root_path", ""))
        return RedirectResponse(f"{root}/{quote(service)}/", SEE_OTHER)

    @router.post(APP_FORM)
    async def form(request: Request, episode_id: str, service: str, operation: str) -> Response:
        return await _respond(runtime, request, episode_id, lambda visit: visit.submit(service, operation))

    @router.get(APP_PAGE)
    async def page(request: Request, episode_id: str, service: str, path: str) -> Response:
        return await _respond(runtime, request, episode_id, lambda visit: visit.page(service, path, request.url.query))

    return router


async def _respond(
    runtime: GatewayRuntime, request: Request, episode_id: str, show: Callable[[_DeskRequest], Awaitable[Response]]
) -> Response:
    async def visit() -> Response:
        return await show(_DeskRequest(runtime, request, episode_id))

    return await page_or_error(visit, request)


class _DeskRequest:
    """A request to the apps of an episode."""

    def __init__(self, runtime: GatewayRuntime, request: Request, episode_id: str) -> None:
        self._engine = runtime.engine()
        self._request = request
        self._episode: Episode = requested_episode(request, self._engine.store, episode_id)
        self._root = desk_root(episode_id, request.scope.get("root_path", ""))
        self._shows_outcome = is_trainer(request)
        self._access = _page_access(request)

    async def desk(self, form_error: FormResult | None = None, status: int = 200) -> Response:
        """Show the brief, the apps and the forms for `wait` and `finish`."""
        instance, episode = self._episode.task.instance, self._episode
        is_scored = episode.done and self._shows_outcome
        text = _TEMPLATES.write(
            "desk.html",
            self._shell("", form_error),
            brief=instance.brief,
            company=instance.company_name,
            queue_tag=QUEUE_TAG if instance.rubric.cases else None,
            steps_left=episode.steps_left,
            max_steps=instance.max_steps,
            page_views_left=episode.page_views_left if self._access is PageAccess.AGENT else None,
            trail=episode.progress.step_summaries[::-1],
            shows_rewards=self._shows_outcome,
            outcomes=list(FinishOutcome),
            reasons=list(ReasonCode),
            is_over=episode.done,
            verdict=episode.progress.find_episode_verdict(episode.task) if is_scored else None,
            outcome=episode.outcome,
            return_=episode.progress.ledger.return_,
            steps=episode.step,
            viewer=f"{self._request.scope.get('root_path', '')}{viewer_path(episode.id)}",
        )
        return HTMLResponse(text, status_code=status, headers=HEADERS)

    async def page(
        self, service: str, path: str, query: str, form_error: FormResult | None = None, status: int | None = None
    ) -> Response:
        """Show a page of a service; raises UnknownServiceError or UnknownPageError (404)."""
        self._check_is_app(service)
        shell = self._shell(service, form_error or result_of_query(dict(parse_qsl(query))))
        call = build_page_call(path, query, shell)
        response = await fetch_page(self._engine.service_clients, self._episode, service, call, self._access)
        text = response.payload
        if response.status == SEE_OTHER:
            return RedirectResponse(text.decode(), SEE_OTHER)
        if text.startswith(_JSON):  # a problem: unknown page or invalid query
            problem = ProblemBody.model_validate_json(text)
            text = _TEMPLATES.write("problem.html", shell, problem=problem).encode()
        return HTMLResponse(text, status_code=status or response.status, headers=HEADERS)

    async def open(self, object_id: str) -> Response:
        """Redirect to the page of the object with an id, in whichever app has it; the redirect is not a page view.

        Without an id it leads to the desk.
        """
        if not object_id:
            return RedirectResponse(self._root, SEE_OTHER)
        access = PageAccess.PAID if self._access is PageAccess.AGENT else self._access
        for service in self._engine.toolbox.page_titles if _OBJECT_ID.fullmatch(object_id) else ():
            call = build_page_call(f"open/{object_id}", "", self._shell(service, None))
            response = await fetch_page(self._engine.service_clients, self._episode, service, call, access)
            if response.status == SEE_OTHER:
                return RedirectResponse(response.payload.decode(), SEE_OTHER)
        problem = UnknownObjectError(f'No object has the ID "{object_id}".').body()
        text = _TEMPLATES.write("problem.html", self._shell("", None), problem=problem)
        return HTMLResponse(text, problem.status, headers={**HEADERS, PROBLEM_HEADER: problem.code})

    async def submit(self, service: str, operation: str) -> Response:
        """Take a step and show the next page, or the form with the error."""
        form = submitted(self._request)
        if not service and operation not in _EPISODE_TOOLS:
            raise UnknownServiceError(f'form must be one of {", ".join(sorted(_EPISODE_TOOLS))}; got "{operation}"')
        if service:
            self._check_is_app(service)
        tool = f"{service}_{operation}" if service else operation
        with hide_outcome(self._request):
            observation = await self._engine.step(self._episode, tool, dict(form.arguments))
        self._request.scope.get(STEPS_SCOPE_KEY, []).append(observation)
        if self._access is PageAccess.AGENT:  # a page with the form's error is part of the step
            self._access = PageAccess.PAID
        problem = problem_of(observation, "Invalid form")
        if problem is None:
            next_path = form.next_path(observation.result, operation)
            return RedirectResponse(f"{self._root}/{service}/{next_path}" if service else self._root, SEE_OTHER)
        form_error = FormResult(operation=operation, form=form.form, problem=problem, typed=form.typed)
        if not service:
            return await self.desk(form_error, problem.status)
        path, _, query = form.page.partition("#")[0].partition("?")
        return await self.page(service, unquote(path), query, form_error, problem.status)

    def _check_is_app(self, service: str) -> None:
        """Raise UnknownServiceError (404) if the service has no app."""
        if service not in self._engine.toolbox.page_titles:
            raise UnknownServiceError(
                f'app must be one of {", ".join(sorted(self._engine.toolbox.page_titles))}; got "{service}"'
            )

    def _shell(self, app: str, form_error: FormResult | None) -> Shell:
        return build_shell(
            self._episode, self._engine.toolbox, self._root, app, form_error, shows_outcome=self._shows_outcome
        )


def _page_access(request: Request) -> PageAccess:
    """Return how a request is counted: without tokens every client counts as the agent."""
    if STEPS_SCOPE_KEY in request.scope:
        return PageAccess.PAID
    return PageAccess.TRAINER if TRAINER_SCOPE_KEY in request.scope else PageAccess.AGENT


def build_in_process_app(runtime: GatewayRuntime) -> AppForEpisode:
    """Return a function that creates the app of an episode's pages, authenticated as its agent."""
    pages = FastAPI(openapi_url=None)
    pages.include_router(desk_router(runtime))
    pages.router.routes.extend(static_mounts())
    install_error_handlers(pages)
    app: ASGIApp = BodyLimitMiddleware(pages)

    def app_for_episode(episode: Episode, steps: list[StepObservation]) -> ASGIApp:
        async def as_agent(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, AGENT_SCOPE_KEY: episode, STEPS_SCOPE_KEY: steps}, receive, send)

        return as_agent

    return app_for_episode
