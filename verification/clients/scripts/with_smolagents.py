"""Plays with the tools that smolagents creates for an MCP server."""

from __future__ import annotations

from common import CALLS, print_report, read_arguments, server, steps_left
from smolagents import ToolCollection


def main() -> None:
    """Play over MCP."""
    address, headers = server(*read_arguments())
    parameters = {"transport": "streamable-http", "url": address, "headers": headers}
    left = 0
    with ToolCollection.from_mcp(parameters, trust_remote_code=True, structured_output=False) as collection:
        tools = {tool.name: tool for tool in collection.tools}
        for name, arguments in CALLS:
            left = steps_left(tools[name](**arguments))
    print_report("smolagents", len(tools), left)


main()
