"""The tutorial, followed in a new environment outside of the repository, with wheels of all packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.integration.processes import HOST, clean_environment, free_port, running

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1500)]

UV = ROOT / ".venv-tools" / "bin" / "uv"
PACKAGES = ["shared", *(f"services/{name}" for name in ("ticketdesk", "datahub", "approvalflow"))]
PACKAGES += ["gateway", "client", "players", "verification"]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
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


class Workplace:
    """A folder with an environment in which the packages are installed, and the steps of a reader."""

    def __init__(self, folder: Path) -> None:
        self.environment = folder / "venv"
        self.folder = folder / "work"
        self.folder.mkdir()

    def run(self, *command: str, succeeds: bool = True) -> str:
        """Run a command in the current folder and return its output."""
        done = subprocess.run(command, cwd=self.folder, env=self.variables, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is succeeds, done.stdout + done.stderr
        return done.stdout

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables, with the new environment first on the path."""
        path = os.pathsep.join([str(self.environment / "bin"), os.environ["PATH"]])
        inherited = clean_environment({"PATH": path})
        return {name: text for name, text in inherited.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def install(self, *arguments: str) -> None:
        """Install distributions, from uv's cache where it holds them."""
        command = [str(UV), "pip", "install", "-q", "--python", str(self.environment), *arguments]
        offline = subprocess.run([*command, "--offline"], cwd=self.folder, capture_output=True, check=False)
        if offline.returncode != 0:
            self.run(*command)

    def follow(self, line: str) -> None:
        """Take one step of a shell block."""
        command, _, comment = (part.strip() for part in line.partition("#"))
        if command.startswith("cd "):
            self.folder /= command.removeprefix("cd ")
        elif command.startswith("pip install "):
            self.install(*command.removeprefix("pip install ").split())
        else:
            self.run("sh", "-c", command, succeeds=comment != "fails")


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """An environment with wheels of all packages, and the versions of other packages that the lock names."""
    root = tmp_path_factory.mktemp("tutorial")
    made, wheels, locked = Workplace(root), root / "wheels", root / "locked.txt"
    for package in PACKAGES:
        made.run(str(UV), "build", "-q", "--offline", "--wheel", "--out-dir", str(wheels), str(ROOT / package))
    exported = ("--frozen", "--quiet", "--no-hashes", "--no-emit-workspace", "--group", "dev", "-o", str(locked))
    made.run(str(UV), "export", "--project", str(ROOT), *exported)
    made.run(str(UV), "venv", "-q", "--offline", "--python", sys.executable, str(made.environment))
    built = sorted(str(path) for path in wheels.glob("*.whl"))
    made.install("-c", str(locked), "pytest", *built)
    return made


def test_a_reader_writes_checks_plays_and_changes_a_scenario(workplace: Workplace) -> None:
    assert BLOCKS[0] == ("sh", "pip install 'companyos[server]' companyos-verification pytest\n")
    for language, block in BLOCKS[1:]:
        if language == "diff":
            patch = workplace.folder / "change.diff"
            patch.write_text(block)
            workplace.run("git", "apply", patch.name)
        elif language == "python":
            _play_over_http(workplace, block)
        elif block != "companyos up\n":
            for line in block.splitlines():
                workplace.follow(line)


def _play_over_http(workplace: Workplace, block: str) -> None:
    """Run the page's block, which does nothing, and the fair oracle over the same protocol."""
    url = f"http://{HOST}:{free_port()}"
    command = [str(workplace.environment / "bin" / "companyos"), "up", "--port", url.rpartition(":")[2]]
    with running(command, url, **workplace.variables):
        python = str(workplace.environment / "bin" / "python")
        assert "# True -5.1 failed" in block
        assert workplace.run(python, "-c", block.replace(GATEWAY, url)).splitlines()[-1] == "True -5.1 failed"
        assert workplace.run(python, "-c", PLAYER, url) == "success\n"
