"""Signed URLs for the REST routes of an episode's services. Each request to them is a step of the agent."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import orjson
from fastapi import Request
from fastapi.responses import Response
from openenv.core.env_server.mcp_types import ToolErrorType

from companyos_gateway.api.episodes import EpisodeId
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine.errors import EpisodeDoneError, GatewayError
from companyos_gateway.engine.observations import StepObservation, problem_of
from companyos_gateway.engine.rest_calls import find_tool, tool_arguments
from companyos_gateway.engine.tokens import service_signature
from companyos_gateway.middleware.auth import SERVICE_METHODS, SERVICE_ROUTE, UnknownTokenError, signed_episode
from companyos_gateway.middleware.body_limit import JSON_SCOPE_KEY
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.web.lazy_routes import LazyRouter
from companyos_shared.web.problems import problem_response

CREATED, OK, NO_CONTENT = 201, 200, 204

_INVALID = {"code": "invalid-arguments", "title": "Invalid arguments"}
"""Code and title that the services use for invalid arguments."""

_FAILED = {"status": 500, "code": "internal-error"}
"""Error of a step after which the episode has ended as `infra_error`."""


class UnknownRouteError(GatewayError):
    status, code, title = 404, "not-found", "Not Found"


def service_urls_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the route that creates the URLs and the route that serves them."""
    router = LazyRouter(responses=ERROR_RESPONSES, tags=["Trainer"])

    @router.post("/v1/episodes/{episode_id}/service-urls", dependencies=STRICT_QUERY)
    async def create_service_urls(request: Request, episode_id: EpisodeId) -> dict[str, str]:
        """Get a URL of each service of an episode, which accepts the service's own REST requests.

        Each request is a step of the agent, exactly as the tool call of the same operation. The URLs need no token and
        work until the episode is dropped.
        """
        engine = runtime.engine()
        episode = engine.store.get(episode_id)
        root = f"{request.base_url}v1/episodes/{quote(episode.id, safe='')}/services"
        return {
            name: f"{root}/{name}/{service_signature(episode.token, name)}"
            for name in sorted(engine.service_clients.clients)
        }

    @router.api_route(SERVICE_ROUTE, methods=list(SERVICE_METHODS), include_in_schema=False)
    async def serve(request: Request, episode_id: str, service: str, signature: str, path: str) -> Response:
        engine = runtime.engine()
        episode = signed_episode(engine.store, episode_id, service, signature)
        if episode is None:
            raise UnknownTokenError
        found = find_tool(engine.tools(episode), service, request.method, f"/{path}")
        if found is None or found[0].operation is None:
            raise UnknownRouteError
        tool, path_values = found
        query, body = request.query_params.multi_items(), request.scope.get(JSON_SCOPE_KEY, {})
        arguments = tool_arguments(found[0].operation, path_values, query, request.headers, body)
        try:
            observation = await runtime.step(episode, tool.name, arguments)
        except EpisodeDoneError:
            raise EpisodeDoneError from None  # without the outcome, because the agent may use the URL
        return _response(observation, creates=found[0].operation.creates)

    return router


def _response(observation: StepObservation, *, creates: bool) -> Response:
    problem = problem_of(observation, "Action failed")
    if problem is not None and observation.error is not None:
        is_invalid = observation.error.error_type is ToolErrorType.INVALID_ARGS
        problem = problem.model_copy(update=_INVALID if is_invalid else _FAILED)
    result: Any = observation.result
    if problem is None:
        status = NO_CONTENT if result is None else CREATED if creates else OK
        body = b"" if result is None else orjson.dumps(result)
        return Response(body, status_code=status, media_type="application/json")
    retry_after = result.get("retry_after_s") if isinstance(result, dict) else None
    return problem_response(problem, {} if retry_after is None else {"Retry-After": str(retry_after)})
