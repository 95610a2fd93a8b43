"""Plays with the function tools that OpenAI Agents creates for an MCP server."""

from __future__ import annotations

import asyncio

from agents.mcp import MCPServerStreamableHttp
from common import CALLS, print_report, read_arguments, server, steps_left


async def main() -> None:
    """Play over MCP."""
    address, headers = server(*read_arguments())
    left = 0
    async with MCPServerStreamableHttp({"url": address, "headers": headers}) as client:
        tools = await client.list_tools()
        for name, arguments in CALLS:
            left = steps_left((await client.call_tool(name, arguments)).content[0].text)
    print_report("openai-agents", len(tools), left)


asyncio.run(main())
