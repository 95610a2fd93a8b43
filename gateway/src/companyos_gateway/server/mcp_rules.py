"""What the framework's own `/mcp` is not asked: ids and names that are no text, arguments that are no object."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.mcp_types import JsonRpcErrorCode

_SHAPES = (("session_id", str, "text"), ("name", str, "text"), ("arguments", dict, "object"))


class McpRefused(Exception):
    """A JSON-RPC request that is answered here; `answer` is its JSON-RPC error."""

    def __init__(self, request: dict[str, Any], code: JsonRpcErrorCode, message: str) -> None:
        super().__init__(message)
        asked = request.get("id")
        self.answer = {
            "jsonrpc": "2.0",
            "id": asked if isinstance(asked, str | int) else None,
            "error": {"code": code.value, "message": message},
        }


def check_mcp(request: dict[str, Any]) -> None:
    """Raise McpRefused for a request on whose parameters the framework would break."""
    params = request.get("params")
    if not isinstance(params, dict):
        return
    for name, kind, described in _SHAPES:
        given = params.get(name)
        if given is not None and not isinstance(given, kind):
            text = f"invalid-params: The {name} is no {described}."
            raise McpRefused(request, JsonRpcErrorCode.INVALID_PARAMS, text)
