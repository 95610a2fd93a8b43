"""ASGI app of an episode's pages, which the gateway's browser requests in process."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.browser.asgi_client import AppForEpisode
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.middleware.auth import AGENT_SCOPE_KEY
from companyos_gateway.middleware.body_limit import BodyLimitMiddleware
from companyos_gateway.middleware.error_responses import install_error_handlers
from companyos_gateway.page_paths import STEPS_SCOPE_KEY
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.desk.routes import desk_router
from companyos_gateway.ui.home import static_mounts


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
