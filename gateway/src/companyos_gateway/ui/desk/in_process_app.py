"""The app of an episode's pages that the gateway's own browser requests in process; it has no address of its own."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.browser.asgi_client import AppForEpisode
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.page_paths import STEPS_SCOPE_KEY
from companyos_gateway.server.guard import Guard
from companyos_gateway.server.house import House
from companyos_gateway.server.pages import static_mounts
from companyos_gateway.server.planes import AGENT_SCOPE_KEY
from companyos_gateway.server.problems import install_problem_handlers
from companyos_gateway.ui.desk.routes import desk_router


def build_in_process_app(runtime: House) -> AppForEpisode:
    """Return a function that makes the app of one episode's pages, served to its agent."""
    pages = FastAPI(openapi_url=None)
    pages.include_router(desk_router(runtime))
    pages.router.routes.extend(static_mounts())
    install_problem_handlers(pages)
    app: ASGIApp = Guard(pages)

    def app_for_episode(episode: Episode, steps: list[StepObservation]) -> ASGIApp:
        async def as_agent(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, AGENT_SCOPE_KEY: episode, STEPS_SCOPE_KEY: steps}, receive, send)

        return as_agent

    return app_for_episode
