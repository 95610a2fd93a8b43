"""MCP over streamable HTTP: which episode a request is about, and the server behind it, which the first one starts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError, UnknownEpisodeError, UnknownServiceError
from companyos_gateway.server.guard import JSON_SCOPE_KEY
from companyos_gateway.server.house import House
from companyos_gateway.server.mcp_rules import MCP_DOORS, McpRefused
from companyos_gateway.server.planes import AGENT_SCOPE_KEY, episode_asked_for

EPISODE_HEADER = "X-CompanyOS-Episode"
ASKED_SCOPE_KEY = "companyos.mcp"

OWN_TOOLS = "gateway"
"""What the server of the tools that belong to no service is called: `wait` and `finish`."""

_CALL = "tools/call"


class NoEpisode(UnknownEpisodeError):
    status, code, title = 422, "no-episode", "The call names no episode"


@dataclass(frozen=True, slots=True)
class McpAsked:
    """What a request is about: a live episode or none, and one service's tools or all."""

    episode: Episode | None
    service: str | None


class McpDoor:
    """ASGI app of every MCP path. The library is imported, and its server runs, from the first request on."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._opened: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. One that names an episode that is not there gets a JSON-RPC error, whatever it asks."""
        request = scope[JSON_SCOPE_KEY]
        try:
            asked = self._asked(HTTPConnection(scope), request)
        except GatewayError as problem:
            await JSONResponse(McpRefused.by(problem, request).answer)(scope, receive, send)
            return
        app = await self._app()
        await app({**scope, "path": "/", "root_path": "", ASKED_SCOPE_KEY: asked}, receive, send)

    def _asked(self, connection: HTTPConnection, request: dict[str, Any]) -> McpAsked:
        """Return what a request is about; raises UnknownEpisodeError or UnknownServiceError (404), NoEpisode or
        ServicesUnavailableError.
        """
        engine = self._house.engine()
        named = connection.path_params.get("episode_id") or connection.headers.get(EPISODE_HEADER)
        service = connection.path_params.get("service")
        if service is not None and service not in (servers := (*sorted(engine.service_clients.clients), OWN_TOOLS)):
            raise UnknownServiceError(f"The servers are {', '.join(servers)}.")
        if named is not None:
            return McpAsked(episode_asked_for(connection, engine.store, named), service)
        agents: Episode | None = connection.scope.get(AGENT_SCOPE_KEY)
        if agents is None and request.get("method") == _CALL:
            raise NoEpisode
        return McpAsked(agents, service)

    async def _app(self) -> ASGIApp:
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._house.in_background(self._serve(self._opened))
        return await asyncio.shield(self._opened)

    async def _serve(self, opened: asyncio.Future[ASGIApp]) -> None:
        """Run the server until the house ends; what is started by one task has to be stopped by it."""
        try:
            app = await asyncio.to_thread(_make_app, self._house)
            async with app.lifespan(app):
                opened.set_result(app)
                await asyncio.Event().wait()
        except Exception as bug:  # noqa: BLE001 - whoever waits for it is told
            opened.set_exception(bug)
        finally:
            opened.cancel()


def mcp_routes(house: House) -> list[Route]:
    """Return the routes; they come before the framework's own."""
    door = McpDoor(house)
    return [Route(path, door, methods=["POST"]) for path in MCP_DOORS]


def _make_app(house: House) -> Any:
    from companyos_gateway.server.mcp_server import make_app  # a third of a second, which no other door waits for

    return make_app(house)
