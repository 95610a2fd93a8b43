"""The gateway's ASGI app: our own doors first, then the framework's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from fastapi import FastAPI
from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.env_server.types import ConcurrencyConfig, ServerMode

from companyos.contract import CompanyOSObservation, CompanyOSResetObservation, CompanyOSState
from companyos_gateway.episode.episode import VERSION
from companyos_gateway.server.guard import Guard
from companyos_gateway.server.health import health_router
from companyos_gateway.server.house import House
from companyos_gateway.server.openenv_environment import DESCRIPTION, ENVIRONMENT_NAME, CompanyOSEnvironment
from companyos_gateway.server.pages import pages_router, static_mounts
from companyos_gateway.server.plain_http import plain_http_router, tools_router
from companyos_gateway.server.problems import install_problem_handlers


def create_app(house: House) -> FastAPI:
    """Make the app of a house; its lifespan brings the house up and down."""
    server = HTTPEnvServer(
        cast(Any, partial(CompanyOSEnvironment, house)),
        CallToolAction,
        CompanyOSObservation,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=house.settings.max_episodes, session_timeout=house.settings.idle_limit_s
        ),
        env_name=ENVIRONMENT_NAME,
        state_cls=CompanyOSState,
        reset_observation_cls=CompanyOSResetObservation,
    )
    app = FastAPI(
        title="CompanyOS",
        description=DESCRIPTION,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(house, server),
    )
    mode = house.settings.mode
    app.include_router(pages_router())
    app.include_router(health_router(house))
    app.include_router(tools_router(house))
    if mode is ServerMode.SIMULATION:
        app.include_router(plain_http_router(house))
    app.router.routes.extend(static_mounts())
    server.register_routes(app, mode)
    install_problem_handlers(app)
    app.add_middleware(Guard)
    return app


def _lifespan(house: House, server: HTTPEnvServer) -> Any:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with house.running():
            server._start_reaper()  # an own lifespan keeps the framework's start-up from doing so
            try:
                yield
            finally:
                server._stop_reaper()

    return lifespan
