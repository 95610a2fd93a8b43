"""OpenEnv's GenericEnvClient, which knows nothing of this environment."""

from __future__ import annotations

import asyncio

from openenv.core.generic_client import GenericEnvClient
from playing import CALLS, SEED, asked, tell


async def main() -> None:
    """Play over OpenEnv's WebSocket."""
    url, episode = asked()
    left = 0
    async with GenericEnvClient(base_url=url) as env:
        await env.reset(seed=SEED, episode_id=episode)
        listed = await env.step({"type": "list_tools"})
        for name, arguments in CALLS:
            result = await env.step({"type": "call_tool", "tool_name": name, "arguments": arguments})
            left = result.observation["steps_left"]
    tell("openenv", len(listed.observation["tools"]), left)


asyncio.run(main())
