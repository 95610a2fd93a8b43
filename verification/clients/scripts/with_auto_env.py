"""Plays with OpenEnv's AutoEnv and AutoAction, which find the client by the environment's name."""

from __future__ import annotations

from common import CALLS, SEED, print_report, read_arguments
from openenv import AutoAction, AutoEnv


def main() -> None:
    """Play over OpenEnv's WebSocket."""
    url, episode = read_arguments()
    action = AutoAction.from_env("companyos")
    left = 0
    with AutoEnv.from_env("companyos", base_url=url).sync() as env:
        env.reset(seed=SEED, episode_id=episode)
        tools = env.list_tools()
        for name, arguments in CALLS:
            left = env.step(action(tool_name=name, arguments=arguments)).observation.steps_left
    print_report("openenv", len(tools), left)


main()
