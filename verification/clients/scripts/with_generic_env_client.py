"""Plays with OpenEnv's GenericEnvClient, which has no code for this environment."""

from __future__ import annotations

import asyncio

from common import CALLS, SEED, print_report, read_arguments
from openenv.core.generic_client import GenericEnvClient


async def main() -> None:
    """Play over OpenEnv's WebSocket."""
    url, episode = read_arguments()
    left = 0
    async with GenericEnvClient(base_url=url) as env:
        await env.reset(seed=SEED, episode_id=episode)
        listed = await env.step({"type": "list_tools"})
        for name, arguments in CALLS:
            result = await env.step({"type": "call_tool", "tool_name": name, "arguments": arguments})
            left = result.observation["steps_left"]
    print_report("openenv", len(listed.observation["tools"]), left)


asyncio.run(main())
