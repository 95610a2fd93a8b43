"""MCP over streamable HTTP: which episode a request is about, and the server behind it, which the first one starts."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.api.mcp_target import OWN_TOOLS, TARGET_SCOPE_KEY, McpTarget
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError, UnknownEpisodeError, UnknownServiceError
from companyos_gateway.middleware.auth import AGENT_SCOPE_KEY, requested_episode
from companyos_gateway.middleware.body_limit import JSON_SCOPE_KEY
from companyos_gateway.middleware.json_rpc import MCP_PATHS, JsonRpcRequestError
from companyos_gateway.runtime import GatewayRuntime

EPISODE_HEADER = "X-CompanyOS-Episode"
_CALL = "tools/call"


class MissingEpisodeError(UnknownEpisodeError):
    status, code, title = 422, "no-episode", "The call names no episode"


class McpEndpoint:
    """ASGI app of every MCP path. The library is imported, and its server runs, from the first request on."""

    def __init__(self, runtime: GatewayRuntime) -> None:
        self._runtime = runtime
        self._app_future: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. One that names an episode that is not there gets a JSON-RPC error, whatever it asks."""
        request = scope[JSON_SCOPE_KEY]
        try:
            target = self._target(HTTPConnection(scope), request)
        except GatewayError as problem:
            await JSONResponse(JsonRpcRequestError.from_problem(problem, request).reply)(scope, receive, send)
            return
        app = await self._app()
        await app({**scope, "path": "/", "root_path": "", TARGET_SCOPE_KEY: target}, receive, send)

    def _target(self, connection: HTTPConnection, request: dict[str, Any]) -> McpTarget:
        """Return what a request is about; raises a GatewayError: UnknownEpisodeError or UnknownServiceError (404),
        MissingEpisodeError (422) or ServicesUnavailableError (503).
        """
        engine = self._runtime.engine()
        episode_id = connection.path_params.get("episode_id") or connection.headers.get(EPISODE_HEADER)
        service = connection.path_params.get("service")
        if service is not None and service not in (servers := (*sorted(engine.service_clients.clients), OWN_TOOLS)):
            raise UnknownServiceError(f"The servers are {', '.join(servers)}.")
        if episode_id is not None:
            return McpTarget(requested_episode(connection, engine.store, episode_id), service)
        own_episode: Episode | None = connection.scope.get(AGENT_SCOPE_KEY)
        if own_episode is None and request.get("method") == _CALL:
            raise MissingEpisodeError
        return McpTarget(own_episode, service)

    async def _app(self) -> ASGIApp:
        if self._app_future is None:
            self._app_future = asyncio.get_running_loop().create_future()
            self._runtime.run_in_background(self._serve(self._app_future))
        return await asyncio.shield(self._app_future)

    async def _serve(self, app_future: asyncio.Future[ASGIApp]) -> None:
        """Run the server until the runtime stops, in one task: the library requires it."""
        try:
            app = await asyncio.to_thread(_make_app, self._runtime)
            async with app.lifespan(app):
                app_future.set_result(app)
                await asyncio.Event().wait()
        except Exception as bug:  # noqa: BLE001 - whoever waits for it is told
            app_future.set_exception(bug)
        finally:
            app_future.cancel()


def mcp_routes(runtime: GatewayRuntime) -> list[Route]:
    """Return the routes; they come before the framework's own."""
    endpoint = McpEndpoint(runtime)
    return [Route(path, endpoint, methods=["POST"]) for path in MCP_PATHS]


def _make_app(runtime: GatewayRuntime) -> Any:
    from companyos_gateway.api.mcp_server import make_app  # takes a third of a second: imported on first use

    return make_app(runtime)
