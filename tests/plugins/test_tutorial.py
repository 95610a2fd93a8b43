"""The tutorial, followed in a new environment outside of the repository, with wheels of all packages."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT
from tests.integration.processes import running
from tests.plugins.isolated_environment import IsolatedEnvironment, build_isolated_environment
from verification.ports import HOST, free_port

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1500)]

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NOT_FOLLOWED = ("companyos up\n", "companyos check .\n")
"""Blocks that are not run: one does not end, the other is run again after the change."""

GATEWAY = "http://127.0.0.1:8000"
PLAYER = """
import asyncio, sys
from contextlib import suppress
from companyos.policies import EpisodeOverError, StepView, TaskView
from companyos_players.registry import fair_player
from companyos_shared.streams import Stream
from datetime import datetime
from openenv.core.generic_client import GenericEnvClient


async def main():
    async with GenericEnvClient(base_url=sys.argv[1]) as env:
        first = (await env.reset(scenario="parking_permit", seed=7)).observation

        async def call(tool, arguments, /):
            step = await env.step({"type": "call_tool", "tool_name": tool, "arguments": arguments})
            seen = step.observation
            now, error = datetime.fromisoformat(seen["now"]), seen["error"]
            return StepView(result=seen["result"], error=error and error["error_type"], reward=step.reward,
                            done=step.done, now=now, steps_left=seen["steps_left"])

        task = TaskView(scenario="parking_permit", brief=first["brief"], company=first["company"],
                        acting_as=first["acting_as"], now=datetime.fromisoformat(first["now"]),
                        steps_left=first["steps_left"], tools=(), stream=Stream("player", 7))
        with suppress(EpisodeOverError):
            await fair_player("parking_permit")(task, call)
        print((await env.state())["outcome"])


asyncio.run(main())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> IsolatedEnvironment:
    """An environment with wheels of all packages."""
    return build_isolated_environment(tmp_path_factory.mktemp("tutorial"))


def test_a_reader_can_follow_the_tutorial(environment: IsolatedEnvironment) -> None:
    assert BLOCKS[0] == ("sh", "pip install 'companyos[server]' companyos-verification pytest\n")
    assert BLOCKS[-1] == ("sh", "pytest\ncompanyos check .\n")
    for language, block in BLOCKS[1:]:
        if language == "diff":
            patch = environment.work / "change.diff"
            patch.write_text(block)
            environment.run("git", "apply", patch.name)
        elif language == "python":
            _play_over_http(environment, block)
        elif block not in NOT_FOLLOWED:
            for line in block.splitlines():
                environment.follow(line)


def _play_over_http(environment: IsolatedEnvironment, block: str) -> None:
    """Run the page's block, which does nothing, and the fair oracle over the same protocol."""
    url = f"http://{HOST}:{free_port()}"
    command = [str(environment.root / "bin" / "companyos"), "up", "--port", url.rpartition(":")[2]]
    with running(command, url, **environment.variables):
        python = str(environment.python)
        assert "# True -5.1 failed" in block
        assert environment.run(python, "-c", block.replace(GATEWAY, url)).splitlines()[-1] == "True -5.1 failed"
        assert environment.run(python, "-c", PLAYER, url) == "success\n"
