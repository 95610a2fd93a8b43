"""Assembles the gateway's ASGI app: its own routes first, then OpenEnv's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from fastapi import FastAPI
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.env_server.types import ServerMode
from starlette.routing import BaseRoute, Route

from companyos.contract import CompanyOSObservation, CompanyOSResetObservation, CompanyOSState
from companyos_gateway.api.episodes import episodes_router, openenv_http_router
from companyos_gateway.api.health import health_router
from companyos_gateway.api.mcp import mcp_routes
from companyos_gateway.api.metrics import metrics_router
from companyos_gateway.api.openapi import build_openapi
from companyos_gateway.api.openenv_environment import DESCRIPTION, ENVIRONMENT_NAME, CompanyOSEnvironment
from companyos_gateway.api.openenv_server import LimitedOpenEnvServer
from companyos_gateway.api.oracle_demo import oracle_demo_router
from companyos_gateway.api.quarantine import quarantine_router
from companyos_gateway.api.service_urls import service_urls_router
from companyos_gateway.api.snapshots import snapshots_router, trainer_episodes_router
from companyos_gateway.api.tools import episode_tools_router, tools_router
from companyos_gateway.api.trainer import trainer_router
from companyos_gateway.engine.episode import VERSION
from companyos_gateway.middleware.auth import TokenAuthMiddleware
from companyos_gateway.middleware.body_limit import BodyLimitMiddleware
from companyos_gateway.middleware.drain import DrainMiddleware, DrainState
from companyos_gateway.middleware.error_responses import PROBLEM_HEADER, install_error_handlers
from companyos_gateway.middleware.fair_share import FairShareScheduler
from companyos_gateway.middleware.rate_limit import RateLimitMiddleware
from companyos_gateway.middleware.websocket_limits import WebSocketLimitMiddleware, WebSocketSlots
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.console.routes import console_router
from companyos_gateway.ui.desk.routes import build_in_process_app, desk_router
from companyos_gateway.ui.home import frame_ancestors, pages_router, static_mounts
from companyos_gateway.ui.playground.routes import playground_routes
from companyos_shared.private_files import keep_files_private
from companyos_shared.serving import DRAIN_STATE
from companyos_shared.web.response_headers import ProtectedApp
from companyos_shared.web.trusted_hosts import TrustedHostsMiddleware


def create_app(runtime: GatewayRuntime) -> FastAPI:
    """Create the app of a runtime; its lifespan starts and stops the runtime."""
    keep_files_private()
    runtime.window_manager.connect(partial(build_in_process_app, runtime))
    drain = DrainState()
    settings = runtime.settings
    server = LimitedOpenEnvServer(
        cast(Any, partial(CompanyOSEnvironment, runtime)),
        CallToolAction,
        CompanyOSObservation,
        sockets=WebSocketSlots(
            limit=settings.max_websockets or settings.max_episodes, idle_limit_s=settings.idle_limit_s
        ),
        max_sessions=settings.max_mcp_sessions,
        session_idle_limit_s=settings.mcp_idle_limit_s,
        env_name=ENVIRONMENT_NAME,
        state_cls=CompanyOSState,
        reset_observation_cls=CompanyOSResetObservation,
    )
    app = ProtectedApp(
        frame_ancestors=frame_ancestors(in_a_space=settings.space_host is not None),
        title="CompanyOS",
        description=DESCRIPTION,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(runtime, server, drain),
    )
    mode = runtime.settings.mode
    pages = pages_router(in_a_space=settings.space_host is not None, has_console=mode is ServerMode.SIMULATION)
    routers = [pages, health_router(runtime, drain), metrics_router(runtime, server, drain)]
    if mode is ServerMode.SIMULATION:
        routers += [desk_router(runtime), console_router(runtime, drain)]
    routers.append(tools_router(runtime))
    if mode is ServerMode.SIMULATION:
        routers += [episodes_router(runtime), episode_tools_router(runtime), openenv_http_router(runtime)]
        routers += [trainer_router(runtime), oracle_demo_router(runtime), service_urls_router(runtime)]
        routers += [trainer_episodes_router(runtime), snapshots_router(runtime), quarantine_router(runtime)]
    own_routes = [route for router in routers for route in router.routes]
    app.router.routes.extend(own_routes)  # without `include_router`, whose routes are matched twice per request
    app.router.routes.extend([*static_mounts(), *mcp_routes(runtime)])
    if mode is ServerMode.SIMULATION and settings.web:
        app.router.routes.extend(playground_routes(runtime, drain))
    own_count = len(app.router.routes)
    server.register_routes(app, mode)
    own_keys = {key for route in own_routes for key in _route_keys(route)}
    app.router.routes[own_count:] = [
        route for route in app.router.routes[own_count:] if not own_keys & _route_keys(route)
    ]
    app.openapi = build_openapi(app)  # type: ignore[method-assign]
    install_error_handlers(app)
    app.state.slots = server
    _add_middleware(app, runtime, server.sockets, drain)
    return app


def _route_keys(route: BaseRoute) -> set[tuple[str, str]]:
    """Return the pairs of path and method that a route serves, by which own routes replace those of OpenEnv."""
    return {(route.path, method) for method in route.methods or ()} if isinstance(route, Route) else set()


def _add_middleware(app: FastAPI, runtime: GatewayRuntime, sockets: WebSocketSlots, drain: DrainState) -> None:
    """Add the middleware of every connection; the one that is added last runs first."""
    settings = runtime.settings
    token = settings.trainer()
    app.add_middleware(BodyLimitMiddleware)
    app.add_middleware(DrainMiddleware, drain=drain)
    app.add_middleware(WebSocketLimitMiddleware, slots=sockets)
    app.add_middleware(
        TokenAuthMiddleware, trainer_token=token, sessions=runtime.sessions, store=lambda: runtime.engine().store
    )
    names, own_name = settings.host_names(), settings.space_host
    app.add_middleware(
        TrustedHostsMiddleware,
        names=names,
        own=own_name,
        any_name=token is not None,
        code_header=PROBLEM_HEADER,
    )
    app.state.shares = FairShareScheduler(min_share=settings.client_share, max_waiting=settings.client_queue)
    app.add_middleware(
        RateLimitMiddleware,
        shares=app.state.shares,
        trainer_token=token,
        store=lambda: runtime.engine().store,
    )


def _lifespan(runtime: GatewayRuntime, server: LimitedOpenEnvServer, drain: DrainState) -> Any:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        async with runtime.running(), server.running():
            yield {DRAIN_STATE: partial(drain.drain, runtime.is_idle)}

    return lifespan
