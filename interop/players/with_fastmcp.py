"""FastMCP's client."""

from __future__ import annotations

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from playing import CALLS, asked, server, tell


async def main() -> None:
    """Play over MCP."""
    address, headers = server(*asked())
    left = 0
    async with Client(StreamableHttpTransport(address, headers=headers)) as client:
        tools = await client.list_tools()
        for name, arguments in CALLS:
            left = (await client.call_tool(name, arguments)).structured_content["steps_left"]
    tell("fastmcp", len(tools), left)


asyncio.run(main())
