"""Third-party clients: those of OpenEnv over the WebSocket and MCP, AutoEnv, and requests over HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import yaml
from openenv import AutoAction, AutoEnv
from openenv.auto._discovery import get_discovery, reset_discovery
from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

from companyos.client import CompanyOSEnv
from companyos.contract import CallToolAction, CompanyOSObservation
from tests.integration.http_episode import HttpEpisode
from verification.openenv.manifest import MANIFEST, ROOT

READ = "ticketdesk_list_tickets"
LIST_TICKETS = {"type": "call_tool", "tool_name": READ, "arguments": {}}


@pytest.mark.parametrize("enterprise", ["url", "up"])
async def test_the_generic_client_plays_reset_steps_and_state(enterprise: str, request: pytest.FixtureRequest) -> None:
    async with GenericEnvClient(base_url=request.getfixturevalue(enterprise)) as env:
        first = await env.reset(seed=3, chaos=0, episode_id="generic-client")
        assert first.observation["brief"]
        assert not first.done
        rewards = []
        for _ in range(3):
            result = await env.step(LIST_TICKETS)
            assert result.observation["result"]["items"]
            rewards.append(result.reward)
        state = await env.state()
        finished = await env.step(
            {"type": "call_tool", "tool_name": "finish", "arguments": {"outcome": "done", "summary": "Looked around."}}
        )
    assert all(isinstance(reward, float) and reward < 0 for reward in rewards)
    assert state["episode_id"] == "generic-client"
    assert state["step_count"] == len(rewards)
    assert state["seed"] == 3
    assert finished.done


def test_the_generic_client_plays_without_async_too(up: str) -> None:
    with GenericEnvClient(base_url=up).sync() as env:
        assert env.reset(seed=3).observation["brief"]
        assert env.step(LIST_TICKETS).observation["result"]["items"]
        assert env.state()["step_count"] == 1


async def test_a_reset_on_the_same_socket_is_a_new_episode(url: str) -> None:
    async with GenericEnvClient(base_url=url) as env:
        first = await env.reset(seed=3)
        await env.step(LIST_TICKETS)
        again = await env.reset(seed=3)
        state = await env.state()
    assert again.observation == first.observation
    assert state["step_count"] == 0


async def test_a_seed_gives_the_same_data_embedded_and_over_tcp(url: str, up: str, http: requests.Session) -> None:
    digests = set()
    for address in (url, up):
        episode = HttpEpisode(address, http)
        episode.reset(seed=5, chaos=1)
        key = episode.result("ticketdesk_list_tickets")["items"][0]["key"]
        episode.step("ticketdesk_add_comment", key=key, body="Hello.")
        episode.step("wait", until="next_working_morning")
        episode.step("finish", outcome="done", summary="Looked around.")
        digests.add(episode.digest)
    assert len(digests) == 1


async def test_http_and_websocket_give_the_same_episode(url: str, http: requests.Session) -> None:
    episode = HttpEpisode(url, http)
    by_http = [episode.reset(seed=4, chaos=1), episode.step("ticketdesk_list_tickets")]
    async with CompanyOSEnv(base_url=url) as env:
        by_socket = [await env.reset(seed=4, chaos=1), await env.call_tool("ticketdesk_list_tickets")]
    assert by_http[0]["observation"]["brief"] == by_socket[0].observation.brief
    assert by_http[1]["observation"]["result"] == by_socket[1].observation.result
    assert by_http[1]["reward"] == by_socket[1].reward


async def test_every_service_has_tools(url: str) -> None:
    async with CompanyOSEnv(base_url=url) as env:
        await env.reset(seed=4)
        names = {tool.name for tool in await env.list_tools()}
    assert {"wait", "finish"} <= names
    assert {name.split("_")[0] for name in names} == {"ticketdesk", "datahub", "approvalflow", "wait", "finish"}


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
