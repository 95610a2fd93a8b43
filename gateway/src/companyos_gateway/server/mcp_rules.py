"""What the framework's own `/mcp` is not asked: ids that are no text."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.mcp_types import JsonRpcErrorCode


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
    """Raise McpRefused for a request on whose session id the framework would break."""
    params = request.get("params")
    session_id = params.get("session_id") if isinstance(params, dict) else None
    if session_id is not None and not isinstance(session_id, str):
        raise McpRefused(request, JsonRpcErrorCode.INVALID_PARAMS, "invalid-params: The session_id is no text.")
