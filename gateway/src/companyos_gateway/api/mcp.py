"""MCP over streamable HTTP: resolves the episode of a request and passes it to the MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.api.lazy_app import LazyApp
from companyos_gateway.api.mcp_target import OWN_TOOLS, TARGET_SCOPE_KEY, McpTarget
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError, UnknownEpisodeError, UnknownServiceError
from companyos_gateway.middleware.auth import AGENT_SCOPE_KEY, is_trainer, requested_episode
from companyos_gateway.middleware.body_limit import JSON_SCOPE_KEY
from companyos_gateway.middleware.error_responses import PROBLEM_HEADER
from companyos_gateway.middleware.json_rpc import MCP_PATHS, JsonRpcRequestError
from companyos_gateway.runtime import GatewayRuntime

EPISODE_HEADER = "X-CompanyOS-Episode"
_CALL = "tools/call"


class MissingEpisodeError(UnknownEpisodeError):
    status, code, title = 422, "no-episode", "Episode id required"


class McpEndpoint:
    """ASGI app of all MCP paths. The first request imports the MCP library and starts its server."""

    def __init__(self, runtime: GatewayRuntime) -> None:
        self._runtime = runtime
        self._server = LazyApp(runtime, partial(_open_server, runtime))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. A request for an unknown episode gets a JSON-RPC error, whatever its method.

        A JSON-RPC response is accepted and ignored, because the server sends no requests.
        """
        request = scope[JSON_SCOPE_KEY]
        try:
            target = self._target(HTTPConnection(scope), request)
        except GatewayError as problem:
            reply = JsonRpcRequestError.from_problem(problem, request).reply
            await JSONResponse(reply, headers={PROBLEM_HEADER: problem.code})(scope, receive, send)
            return
        if "method" not in request and request.keys() & {"result", "error"}:
            await Response(status_code=202)(scope, receive, send)
            return
        app = await self._server.app()
        await app({**scope, "path": "/", "root_path": "", TARGET_SCOPE_KEY: target}, receive, send)

    def _target(self, connection: HTTPConnection, request: dict[str, Any]) -> McpTarget:
        """Return the episode and the service of a request.

        Raises UnknownEpisodeError or UnknownServiceError (404), MissingEpisodeError (422) or ServicesUnavailableError
        (503).
        """
        engine = self._runtime.engine()
        episode_id = connection.path_params.get("episode_id") or connection.headers.get(EPISODE_HEADER)
        service = connection.path_params.get("service")
        if service is not None and service not in (servers := (*sorted(engine.service_clients.clients), OWN_TOOLS)):
            raise UnknownServiceError(f'server must be one of {", ".join(servers)}; got "{service}"')
        if episode_id is not None:
            requested = requested_episode(connection, engine.store, episode_id)
            return McpTarget(requested, service, with_reward=is_trainer(connection))
        own_episode: Episode | None = connection.scope.get(AGENT_SCOPE_KEY)
        if own_episode is None and request.get("method") == _CALL:
            raise MissingEpisodeError(f"Pass the episode in the path or in the header {EPISODE_HEADER}.")
        return McpTarget(own_episode, service, with_reward=is_trainer(connection))


def mcp_routes(runtime: GatewayRuntime) -> list[Route]:
    """Return the MCP routes. Include them before the framework's."""
    endpoint = McpEndpoint(runtime)
    return [Route(path, endpoint, methods=["POST"]) for path in MCP_PATHS]


@asynccontextmanager
async def _open_server(runtime: GatewayRuntime) -> AsyncIterator[ASGIApp]:
    app = await asyncio.to_thread(_make_app, runtime)
    async with app.lifespan(app):
        yield app


def _make_app(runtime: GatewayRuntime) -> Any:
    from companyos_gateway.api.mcp_server import make_app  # the import takes 0.3 s

    return make_app(runtime)
