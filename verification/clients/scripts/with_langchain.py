"""Plays with LangChain tools from langchain-mcp-adapters, as LangChain and LangGraph agents do."""

from __future__ import annotations

import asyncio

from common import CALLS, print_report, read_arguments, server, steps_left
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    """Play over MCP."""
    address, headers = server(*read_arguments())
    client = MultiServerMCPClient({"companyos": {"transport": "streamable_http", "url": address, "headers": headers}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    left = 0
    for name, arguments in CALLS:
        message = await tools[name].ainvoke({"type": "tool_call", "id": name, "name": name, "args": arguments})
        left = steps_left(message.content[0]["text"])
    print_report("langchain-mcp-adapters", len(tools), left)


asyncio.run(main())
