"""The target of an MCP request: the endpoint resolves it, the server reads it from the request's scope."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_gateway.engine.episode import Episode

TARGET_SCOPE_KEY = "companyos.mcp"

OWN_TOOLS = "gateway"
"""What the server of the tools that belong to no service is called: `wait` and `finish`."""


@dataclass(frozen=True, slots=True)
class McpTarget:
    """The target of a request: a live episode or none, and one service's tools or all."""

    episode: Episode | None
    service: str | None
