"""OpenEnv's own clients: the MCP client, AutoEnv and AutoAction, and the oracle that the manifest declares."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from openenv import AutoAction, AutoEnv
from openenv.auto._discovery import get_discovery, reset_discovery
from openenv.core.mcp_client import MCPToolClient

from companyos.client import CompanyOSEnv
from companyos.contract import CallToolAction, CompanyOSObservation
from verification.openenv.manifest import MANIFEST, ROOT

READ = "ticketdesk_list_tickets"


@pytest.fixture
def discovery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reset OpenEnv's discovery, with a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    reset_discovery()
    yield
    reset_discovery()


async def test_the_mcp_client_calls_tools_of_the_episode_that_it_reset(up: str) -> None:
    env = MCPToolClient(base_url=up)
    async with env:
        first = await env.reset(seed=3, chaos=0, episode_id="by-mcp")
        assert first.reward == 0.0
        assert READ in {tool.name for tool in await env.list_tools()}
        assert (await env.call_tool(READ))["items"]
        step = await env.step(CallToolAction(tool_name="wait", arguments={"minutes": 5}))
        assert isinstance(step.reward, float)
        state = await env.state()
    assert (state.episode_id, state.step_count) == ("by-mcp", 2)


def test_the_mcp_client_works_without_async_too(up: str) -> None:
    with MCPToolClient(base_url=up).sync() as env:
        env.reset(seed=3)
        assert env.call_tool(READ)["items"]
        assert env.state().step_count == 1


@pytest.mark.parametrize("name", ["companyos", "companyos-env", "companyos_env"])
@pytest.mark.usefixtures("discovery")
def test_autoenv_finds_the_typed_client_by_the_name_of_the_environment(up: str, name: str) -> None:
    assert AutoEnv.get_env_class(name) is CompanyOSEnv
    assert AutoAction.from_env(name) is CallToolAction
    assert AutoEnv.get_env_info(name)["package"] == "openenv-companyos"


@pytest.mark.usefixtures("discovery")
def test_autoenv_plays_on_a_running_server(up: str) -> None:
    found = get_discovery().get_environment("companyos")
    assert found is not None
    assert (found.spec_version, found.observation_class_name) == (1, "CompanyosObservation")
    assert found.get_observation_class() is CompanyOSObservation
    with AutoEnv.from_env("companyos", base_url=up).sync() as env:
        assert env.reset(seed=3, chaos=0).observation.brief
        action = AutoAction.from_env("companyos")(tool_name=READ, arguments={})
        assert env.step(action).observation.result["items"]
        other = env.new_session()
        other.reset(seed=4)
        assert (env.state().step_count, other.state().step_count) == (1, 0)


def test_the_oracle_of_the_manifest_reaches_the_maximum_reward(up: str) -> None:
    oracle = yaml.safe_load(MANIFEST.read_text())["validation"]["capabilities"]["oracle"]["location"]
    output = subprocess.run([sys.executable, ROOT / oracle, up], capture_output=True, text=True, check=False)
    assert (output.returncode, output.stdout) == (0, "reward 1, done True\n"), "run `make regenerate`"
