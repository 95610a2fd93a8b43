"""OpenEnv's MCPToolClient."""

from __future__ import annotations

import asyncio

from openenv.core.mcp_client import MCPToolClient
from playing import CALLS, SEED, asked, tell


async def main() -> None:
    """Play over OpenEnv's WebSocket."""
    url, episode = asked()
    async with MCPToolClient(base_url=url) as env:
        await env.reset(seed=SEED, episode_id=episode)
        tools = await env.list_tools()
        for name, arguments in CALLS:
            await env.call_tool(name, **arguments)
        state = await env.state()
    tell("openenv", len(tools), steps=state.step_count)


asyncio.run(main())
