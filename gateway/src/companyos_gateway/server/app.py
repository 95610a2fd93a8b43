"""The gateway's ASGI app: our own doors first, then the framework's."""

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
from companyos_gateway.engine.episode import VERSION
from companyos_gateway.server.admission import Admission
from companyos_gateway.server.branching import held_episodes_router, snapshots_router
from companyos_gateway.server.demonstration import demonstration_router
from companyos_gateway.server.documented import documented
from companyos_gateway.server.drain import Drain, DrainDoors
from companyos_gateway.server.guard import Guard
from companyos_gateway.server.health import health_router
from companyos_gateway.server.house import House
from companyos_gateway.server.mcp_door import mcp_routes
from companyos_gateway.server.metrics import metrics_router
from companyos_gateway.server.openenv_environment import DESCRIPTION, ENVIRONMENT_NAME, CompanyOSEnvironment
from companyos_gateway.server.openenv_server import SlottedServer
from companyos_gateway.server.pages import frame_ancestors, pages_router, static_mounts
from companyos_gateway.server.plain_http import episodes_router, plain_http_router
from companyos_gateway.server.planes import Planes
from companyos_gateway.server.problems import install_problem_handlers
from companyos_gateway.server.quarantine_routes import quarantine_router
from companyos_gateway.server.rate_limits import FairShares
from companyos_gateway.server.slots import SocketGate, SocketSlots
from companyos_gateway.server.task_rules import TaskRules
from companyos_gateway.server.tools import episode_tools_router, tools_router
from companyos_gateway.server.trainer import trainer_router
from companyos_gateway.ui.console.routes import console_router
from companyos_gateway.ui.desk.in_process_app import build_in_process_app
from companyos_gateway.ui.desk.routes import desk_router
from companyos_gateway.ui.playground.routes import playground_routes
from companyos_shared.private_files import keep_files_private
from companyos_shared.serving import DRAIN_STATE
from companyos_shared.web.response_headers import ProtectedApp
from companyos_shared.web.trusted_hosts import TrustedHosts


def create_app(house: House) -> FastAPI:
    """Make the app of a house; its lifespan brings the house up and down."""
    keep_files_private()
    house.window_manager.connect(partial(build_in_process_app, house))
    drain = Drain()
    settings = house.settings
    server = SlottedServer(
        cast(Any, partial(CompanyOSEnvironment, house)),
        CallToolAction,
        CompanyOSObservation,
        sockets=SocketSlots(most=settings.max_connections or settings.max_episodes, idle_limit_s=settings.idle_limit_s),
        most_sessions=settings.max_mcp_sessions,
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
        lifespan=_lifespan(house, server, drain),
    )
    mode = house.settings.mode
    pages = pages_router(in_a_space=settings.space_host is not None, has_console=mode is ServerMode.SIMULATION)
    routers = [pages, health_router(house, drain), metrics_router(house, server, drain)]
    if mode is ServerMode.SIMULATION:
        routers += [desk_router(house), console_router(house, drain)]
    routers.append(tools_router(house))
    if mode is ServerMode.SIMULATION:
        routers += [episodes_router(house), episode_tools_router(house), plain_http_router(house)]
        routers += [trainer_router(house), demonstration_router(house)]
        routers += [held_episodes_router(house), snapshots_router(house), quarantine_router(house)]
    own = [route for router in routers for route in router.routes]
    app.router.routes.extend(own)  # as they are: an included router looks at all of its routes twice, and at each call
    app.router.routes.extend([*static_mounts(), *mcp_routes(house)])
    if mode is ServerMode.SIMULATION and settings.web:
        app.router.routes.extend(playground_routes(house, drain))
    before = len(app.router.routes)
    server.register_routes(app, mode)
    answered = {door for route in own for door in _doors(route)}
    app.router.routes[before:] = [route for route in app.router.routes[before:] if not answered & _doors(route)]
    app.openapi = documented(app)  # type: ignore[method-assign]
    install_problem_handlers(app)
    app.state.slots = server
    _stand_guard(app, house, server.sockets, drain)
    return app


def _doors(route: BaseRoute) -> set[tuple[str, str]]:
    """Return the paths and methods that a route answers; of the framework's those that ours answer are left out."""
    return {(route.path, method) for method in route.methods or ()} if isinstance(route, Route) else set()


def _stand_guard(app: FastAPI, house: House, sockets: SocketSlots, drain: Drain) -> None:
    """Put what every connection meets around the app; the one that is added last is met first."""
    settings = house.settings
    token = settings.trainer()
    app.add_middleware(TaskRules)
    app.add_middleware(Guard)
    app.add_middleware(DrainDoors, drain=drain)
    app.add_middleware(SocketGate, slots=sockets)
    app.add_middleware(Planes, trainer_token=token, sessions=house.sessions, store=lambda: house.engine().store)
    names, own = settings.host_names(), settings.space_host
    app.add_middleware(TrustedHosts, names=names, own=own, any_name=token is not None)
    app.state.shares = FairShares(least_share=settings.client_share, most_waiting=settings.client_queue)
    app.add_middleware(
        Admission,
        shares=app.state.shares,
        trainer_token=token,
        store=lambda: house.engine().store,
    )


def _lifespan(house: House, server: SlottedServer, drain: Drain) -> Any:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        async with house.running(), server.running():
            yield {DRAIN_STATE: partial(drain.drain, house.is_idle)}

    return lifespan
