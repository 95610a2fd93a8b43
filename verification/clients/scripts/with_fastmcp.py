"""Plays with FastMCP's client."""

from __future__ import annotations

import asyncio

from common import CALLS, print_report, read_arguments, server
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main() -> None:
    """Play over MCP."""
    address, headers = server(*read_arguments())
    left = 0
    async with Client(StreamableHttpTransport(address, headers=headers)) as client:
        tools = await client.list_tools()
        for name, arguments in CALLS:
            left = (await client.call_tool(name, arguments)).structured_content["steps_left"]
    print_report("fastmcp", len(tools), left)


asyncio.run(main())
