"""The tools that smolagents makes of an MCP server."""

from __future__ import annotations

from playing import CALLS, asked, server, steps_left, tell
from smolagents import ToolCollection


def main() -> None:
    """Play over MCP."""
    address, headers = server(*asked())
    parameters = {"transport": "streamable-http", "url": address, "headers": headers}
    left = 0
    with ToolCollection.from_mcp(parameters, trust_remote_code=True, structured_output=False) as collection:
        tools = {tool.name: tool for tool in collection.tools}
        for name, arguments in CALLS:
            left = steps_left(tools[name](**arguments))
    tell("smolagents", len(tools), left)


main()
