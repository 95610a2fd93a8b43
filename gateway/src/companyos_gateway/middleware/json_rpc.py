"""JSON-RPC errors, parameter validation, and the paths of MCP."""

from __future__ import annotations

import json
from typing import Any

from openenv.core.env_server.mcp_types import JsonRpcErrorCode
from starlette.routing import compile_path

from companyos_gateway.engine.errors import GatewayError
from companyos_shared.wire.strict_json import LONE_SURROGATE

MCP_PATH = "/mcp"
"""OpenEnv's own MCP route, which supports the requests for tools but not the handshake."""

MCP_PATHS = (
    "/v1/mcp",
    "/v1/mcp/{service}",
    "/v1/episodes/{episode_id}/mcp",
    "/v1/episodes/{episode_id}/mcp/{service}",
)
"""Paths that serve the complete MCP protocol."""

MCP_METHODS = ("initialize", "logging/setLevel", "ping", "tools/call", "tools/list")
"""Methods of the requests that these paths serve."""

_PATTERNS = tuple(compile_path(path)[0] for path in MCP_PATHS)
_PARAM_TYPES = (("session_id", str, "a string"), ("name", str, "a string"), ("arguments", dict, "an object"))
_SERVER_ERRORS = 500


class JsonRpcRequestError(Exception):
    """Raised for a JSON-RPC request that is rejected; `reply` is the error response."""

    def __init__(self, request: dict[str, Any], code: JsonRpcErrorCode, message: str, data: Any = None) -> None:
        super().__init__(message)
        request_id = request.get("id")
        error = {"code": code.value, "message": message}
        self.reply = {
            "jsonrpc": "2.0",
            "id": request_id if _is_id(request_id) else None,
            "error": error if data is None else {**error, "data": data},
        }

    @classmethod
    def from_problem(cls, problem: GatewayError, request: dict[str, Any]) -> JsonRpcRequestError:
        """Return the error for a request that failed with a GatewayError; the problem body is its data."""
        code = JsonRpcErrorCode.INVALID_PARAMS
        if problem.status >= _SERVER_ERRORS:
            code = JsonRpcErrorCode.INTERNAL_ERROR
        return cls(request, code, str(problem), problem.body().model_dump(exclude_none=True))


def _is_id(value: Any) -> bool:
    """Return whether a value can be the id of a request: an integer, or a string without lone surrogates."""
    if isinstance(value, str):
        return LONE_SURROGATE.search(value) is None
    return isinstance(value, int) and not isinstance(value, bool)


def is_mcp_path(path: str) -> bool:
    """Return whether a path serves the complete MCP protocol; MCP_PATH does not."""
    return any(pattern.match(path) for pattern in _PATTERNS)


def check_request(request: dict[str, Any]) -> None:
    """Raise JsonRpcRequestError for a request whose id is neither a string nor an integer, or whose method is unknown.

    The MCP server would treat the former as a notification, and name the parameters as the cause of the latter.
    """
    if "method" not in request or "id" not in request:
        return
    if not _is_id(request["id"]):
        text = "invalid-request: id must be a string or an integer."
        raise JsonRpcRequestError(request, JsonRpcErrorCode.INVALID_REQUEST, text)
    method = request["method"]
    if isinstance(method, str) and method not in MCP_METHODS:
        text = f'method-not-found: method must be one of {", ".join(MCP_METHODS)}; got "{method}".'
        raise JsonRpcRequestError(request, JsonRpcErrorCode.METHOD_NOT_FOUND, text)


def check_params(request: dict[str, Any]) -> None:
    """Raise JsonRpcRequestError for parameters of a wrong type, which the servers do not handle."""
    params = request.get("params")
    if not isinstance(params, dict):
        return
    for name, kind, type_name in _PARAM_TYPES:
        given = params.get(name)
        if given is not None and not isinstance(given, kind):
            text = f"invalid-params: {name} must be {type_name}."
            raise JsonRpcRequestError(request, JsonRpcErrorCode.INVALID_PARAMS, text)


def parse_leniently(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a rejected body, whose id the error response needs; empty if it is not valid."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
