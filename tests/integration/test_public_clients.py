"""Third-party clients: OpenEnv's GenericEnvClient over the WebSocket, requests over HTTP."""

from __future__ import annotations

import pytest
import requests
from openenv.core.generic_client import GenericEnvClient

from companyos.client import CompanyOSEnv
from tests.integration.http_episode import HttpEpisode

LIST_TICKETS = {"type": "call_tool", "tool_name": "ticketdesk_list_tickets", "arguments": {}}


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
