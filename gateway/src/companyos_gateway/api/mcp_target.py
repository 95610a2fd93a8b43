"""The episode and service of an MCP request: set in the ASGI scope by the endpoint, read by the server."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_gateway.engine.episode import Episode

TARGET_SCOPE_KEY = "companyos.mcp"

OWN_TOOLS = "gateway"
"""Name of the server with the tools `wait` and `finish`, which belong to no service."""


@dataclass(frozen=True, slots=True)
class McpTarget:
    """The target of a request. Without a service, the tools of all services. An agent sees no rewards."""

    episode: Episode | None
    service: str | None
    with_reward: bool
