"""FastMCP's client for an in-process gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from starlette.types import ASGIApp

from companyos_gateway.api.mcp import EPISODE_HEADER

McpClient = Client[StreamableHttpTransport]


@asynccontextmanager
async def mcp_client(
    app: ASGIApp, path: str = "/v1/mcp", *, episode: str | None = None, token: str | None = None
) -> AsyncIterator[McpClient]:
    """Open an MCP session; if given, the episode and the token are sent as headers."""
    headers = {EPISODE_HEADER: episode} if episode is not None else {}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"

    def factory(
        headers: dict[str, str] | None = None,
        timeout: httpx.Timeout | None = None,
        auth: httpx.Auth | None = None,
        **_more: Any,
    ) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=headers, timeout=timeout, auth=auth)

    transport = StreamableHttpTransport(f"http://g{path}", headers=headers, httpx_client_factory=factory)
    async with Client(transport) as client:
        yield client
