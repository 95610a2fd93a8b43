"""JSON-RPC errors, parameter validation, and the paths of MCP."""

from __future__ import annotations

import json
from typing import Any

from openenv.core.env_server.mcp_types import JsonRpcErrorCode
from starlette.routing import compile_path

from companyos_gateway.engine.errors import GatewayError

MCP_PATHS = (
    "/v1/mcp",
    "/v1/mcp/{service}",
    "/v1/episodes/{episode_id}/mcp",
    "/v1/episodes/{episode_id}/mcp/{service}",
)
"""Where MCP itself is spoken."""

_PATTERNS = tuple(compile_path(path)[0] for path in MCP_PATHS)
_PARAM_TYPES = (("session_id", str, "text"), ("name", str, "text"), ("arguments", dict, "object"))
_SERVER_ERRORS = 500


class JsonRpcRequestError(Exception):
    """A JSON-RPC request that is answered here; `answer` is its JSON-RPC error."""

    def __init__(self, request: dict[str, Any], code: JsonRpcErrorCode, message: str, data: Any = None) -> None:
        super().__init__(message)
        request_id = request.get("id")
        error = {"code": code.value, "message": message}
        self.reply = {
            "jsonrpc": "2.0",
            "id": request_id if isinstance(request_id, str | int) else None,
            "error": error if data is None else {**error, "data": data},
        }

    @classmethod
    def from_problem(cls, problem: GatewayError, request: dict[str, Any]) -> JsonRpcRequestError:
        """Return the refusal of a request by a problem, whose body is the error's data."""
        code = JsonRpcErrorCode.INVALID_PARAMS
        if problem.status >= _SERVER_ERRORS:
            code = JsonRpcErrorCode.INTERNAL_ERROR
        return cls(request, code, str(problem), problem.body().model_dump(exclude_none=True))


def is_mcp_path(path: str) -> bool:
    """Say whether MCP itself is spoken at a path; OpenEnv's own is none of these."""
    return any(pattern.match(path) for pattern in _PATTERNS)


def check_params(request: dict[str, Any]) -> None:
    """Raise JsonRpcRequestError for a request on whose parameters a server behind would break."""
    params = request.get("params")
    if not isinstance(params, dict):
        return
    for name, kind, type_name in _PARAM_TYPES:
        given = params.get(name)
        if given is not None and not isinstance(given, kind):
            text = f"invalid-params: The {name} is no {type_name}."
            raise JsonRpcRequestError(request, JsonRpcErrorCode.INVALID_PARAMS, text)


def parse_leniently(body: bytes) -> dict[str, Any]:
    """Return the request in a body that this house does not take, as far as it can be read: its id is wanted."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
