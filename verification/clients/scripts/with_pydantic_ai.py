"""Plays with Pydantic AI's MCP toolset."""

from __future__ import annotations

import asyncio

from common import CALLS, print_report, read_arguments, server
from pydantic_ai.mcp import MCPToolset


async def main() -> None:
    """Play over MCP."""
    address, headers = server(*read_arguments())
    left = 0
    async with MCPToolset(address, headers=headers) as toolset:
        tools = await toolset.list_tools()
        for name, arguments in CALLS:
            left = (await toolset.direct_call_tool(name, arguments))["steps_left"]
    print_report("pydantic-ai-slim", len(tools), left)


asyncio.run(main())
