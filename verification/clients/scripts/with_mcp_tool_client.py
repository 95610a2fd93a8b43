"""Plays with OpenEnv's MCPToolClient."""

from __future__ import annotations

import asyncio

from common import CALLS, SEED, print_report, read_arguments
from openenv.core.mcp_client import MCPToolClient


async def main() -> None:
    """Play over OpenEnv's WebSocket."""
    url, episode = read_arguments()
    async with MCPToolClient(base_url=url) as env:
        await env.reset(seed=SEED, episode_id=episode)
        tools = await env.list_tools()
        for name, arguments in CALLS:
            await env.call_tool(name, **arguments)
        state = await env.state()
    print_report("openenv", len(tools), steps=state.step_count)


asyncio.run(main())
