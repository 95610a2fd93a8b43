"""Signed URLs for the REST routes of an episode's services. Each request to them is a step of the agent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson
from fastapi import Request
from fastapi.responses import Response
from openenv.core.env_server.mcp_types import ToolErrorType
from starlette.routing import compile_path

from companyos_gateway.api.episodes import EpisodeId
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine.errors import EpisodeDoneError, GatewayError
from companyos_gateway.engine.observations import StepObservation, problem_of
from companyos_gateway.engine.openapi_operations import Argument, ArgumentLocation, Operation
from companyos_gateway.engine.tokens import service_signature
from companyos_gateway.engine.toolbox import Tool
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
            raise UnknownTokenError("No live episode has this address.")
        found = find_tool(engine.tools(episode), service, request.method, f"/{path}")
        if found is None or found[0].operation is None:
            raise UnknownRouteError(f"{service} has no operation {request.method} /{path}.")
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


_INTEGER = re.compile(r"-?[0-9]{1,17}")
_NUMBER = re.compile(r"-?[0-9]{1,17}(\.[0-9]{1,17})?")
_BOOLEANS = {"true": True, "false": False}


def find_tool(tools: Iterable[Tool], service: str, method: str, path: str) -> tuple[Tool, dict[str, str]] | None:
    """Return the first tool whose route matches, with the values of its path parameters, or None."""
    for tool in tools:
        operation = tool.operation
        if operation is None or operation.service != service or operation.method != method:
            continue
        if match := compile_path(operation.path)[0].match(path):
            return tool, match.groupdict()
    return None


def tool_arguments(
    operation: Operation,
    path_values: Mapping[str, str],
    query: Sequence[tuple[str, str]],
    headers: Mapping[str, str],
    body: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments of a request, without validating them against the tool's schema."""
    arguments: dict[str, Any] = dict(body)
    for name in dict.fromkeys(name for name, _ in query):
        texts = [text for found, text in query if found == name]
        arguments[name] = _from_query(texts, operation.arguments.get(name))
    for argument in operation.arguments.values():
        if argument.location is ArgumentLocation.PATH:
            arguments[argument.name] = _from_text(path_values[argument.wire_name], _types(argument.public_schema))
        elif argument.location is ArgumentLocation.HEADER and argument.wire_name in headers:
            arguments[argument.name] = _from_header(headers[argument.wire_name], _types(argument.public_schema))
    return arguments


def _from_query(texts: list[str], argument: Argument | None) -> Any:
    if argument is None:
        return texts[0]
    types = _types(argument.public_schema)
    if "array" in types:
        items = _types(argument.public_schema.get("items", {}))
        return [_from_text(text, items) for text in texts]
    return _from_text(texts[0], types) if len(texts) == 1 else texts


def _from_header(text: str, types: set[str]) -> Any:
    """Return the value of a header; a number may be quoted like an entity tag."""
    number = _from_text(text.strip().removeprefix("W/").strip('"'), types)
    return number if isinstance(number, int) else text


def _types(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema accepts."""
    kind = schema.get("type", ())
    types = {kind} if isinstance(kind, str) else set(kind)
    return types.union(*(_types(option) for option in schema.get("anyOf", ())))


def _from_text(text: str, types: set[str]) -> Any:
    """Parse the text of a parameter in the same way as the service."""
    if "integer" in types and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        return float(text)
    return _BOOLEANS.get(text, text) if "boolean" in types else text
