"""Snapshots, forks and lost connections from the client's side, against a real enterprise that requires a token."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.client import ApiError, CompanyOSEnv
from companyos.contract import CompanyOSResetObservation, InjectedState
from companyos.trainer import Trainer, bearer
from tests.client.conftest import MAX_CONNECTIONS, SecuredEnterprise

pytestmark = pytest.mark.integration

UNKNOWN = "0" * 32


def an_env(guarded: SecuredEnterprise) -> CompanyOSEnv:
    return CompanyOSEnv(base_url=guarded.url, token=guarded.token)


async def begin(env: CompanyOSEnv, seed: int = 7) -> str:
    """Start an episode, take two steps, and return the key of a ticket."""
    await env.reset(scenario="vendor_onboarding", seed=seed, chaos=1)
    listed = await env.call_tool("ticketdesk_list_tickets")
    key: str = listed.observation.result["items"][0]["key"]
    await env.call_tool("ticketdesk_add_comment", key=key, body="First.")
    return key


async def play_on(env: CompanyOSEnv, key: str) -> list[Any]:
    steps = [
        await env.call_tool("ticketdesk_add_comment", key=key, body="Second."),
        await env.call_tool("wait", minutes=90),
        await env.call_tool("datahub_list_sources"),
        await env.call_tool("ticketdesk_get_ticket", key=key),
    ]
    return [(step.observation.model_dump(), step.reward, step.done) for step in steps]


async def test_if_one_fork_cannot_connect_all_forks_are_dropped(guarded: SecuredEnterprise) -> None:
    async with an_env(guarded) as env, Trainer(guarded.url, headers=bearer(guarded.token)) as trainer:
        await begin(env)
        kept = await env.snapshot()
        before = {episode.episode_id for episode in await trainer.episodes()}
        with pytest.raises(ApiError, match="at-capacity"):
            await env.fork(kept.id, MAX_CONNECTIONS)
        assert {episode.episode_id for episode in await trainer.episodes()} == before
        for fork in await env.fork(kept.id, 2):
            assert (await fork.state()).step_count == kept.step


async def test_a_fork_that_cannot_be_dropped_does_not_keep_the_others(guarded: SecuredEnterprise) -> None:
    async with an_env(guarded) as env, Trainer(guarded.url, headers=bearer(guarded.token)) as trainer:
        await begin(env)
        before = {episode.episode_id for episode in await trainer.episodes()}
        opened = [fork.episode_id for fork in await env._open(await env.snapshot(), 2)]
        await trainer.drop(opened[0])
        await env._drop(opened)
        assert {episode.episode_id for episode in await trainer.episodes()} == before


async def test_another_episode_can_start_from_a_snapshot(guarded: SecuredEnterprise) -> None:
    async with an_env(guarded) as env:
        key = await begin(env)
        kept = await env.snapshot()
        first = await play_on(env, key)
        other = await env.new_session()
        last = await other.reset(injected_state=InjectedState(snapshot=kept.id), episode_id="from-the-middle")
        assert last.observation.tool_name == "ticketdesk_add_comment"
        assert await play_on(other, key) == first
        assert (await other.state()).episode_id == "from-the-middle"


async def test_the_difference_between_two_steps_is_listed_row_by_row(guarded: SecuredEnterprise) -> None:
    async with an_env(guarded) as env:
        key = await begin(env)
        await env.call_tool("ticketdesk_update_ticket", key=key, priority="critical")
        whole, last = await env.diff(), await env.diff(2, 3)
        assert (whole.from_, whole.to, last.from_, last.to) == (0, 3, 2, 3)
        assert list(last.services) == ["ticketdesk"]
        row = last.services["ticketdesk"]["tickets"][key]
        assert row.before is not None
        assert row.after is not None
        assert (row.after["priority"], row.after["version"] - row.before["version"]) == ("critical", 1)
        assert [each.before for each in whole.services["ticketdesk"]["comments"].values()] == [None]


async def test_an_episode_resumes_from_its_last_observation_after_a_lost_connection(
    guarded: SecuredEnterprise,
) -> None:
    async with an_env(guarded) as env:
        key = await begin(env)
        last = await env.call_tool("wait", minutes=5)
        lose_connection(env)
        with pytest.raises(ConnectionError):
            await env.call_tool("wait", minutes=6)
        assert await env.resume() == last
        assert (await env.state()).step_count == 3
        assert len(await play_on(env, key)) == 4


async def test_before_the_first_step_the_last_observation_is_the_first(guarded: SecuredEnterprise) -> None:
    async with an_env(guarded) as env:
        first = await env.reset(seed=7)
        lose_connection(env)
        again = await env.resume()
        assert isinstance(again.observation, CompanyOSResetObservation)
        assert again == first


async def test_a_dropped_episode_cannot_be_resumed(guarded: SecuredEnterprise) -> None:
    async with an_env(guarded) as env, Trainer(guarded.url, headers=bearer(guarded.token)) as trainer:
        await begin(env)
        await trainer.drop(str((await env.state()).episode_id))
        with pytest.raises(ApiError) as refusal:
            await env.resume()
        assert refusal.value.problem == "unknown-episode"


async def test_without_an_episode_snapshots_and_resuming_are_rejected(guarded: SecuredEnterprise) -> None:
    async with an_env(guarded) as env:
        for refused in (env.resume(), env.snapshot(), env.diff(), env.restore(UNKNOWN)):
            with pytest.raises(ApiError) as refusal:
                await refused
            assert refusal.value.problem == "not-reset"


def test_the_sync_client_does_the_same_without_await(guarded: SecuredEnterprise) -> None:
    with an_env(guarded).sync() as env:
        env.reset(seed=7, chaos=1)
        listed = env.call_tool("ticketdesk_list_tickets")
        kept = env.snapshot()
        forks = env.fork(kept, 2)
        assert [fork.call_tool("ticketdesk_list_tickets").observation.result for fork in forks] == [
            listed.observation.result
        ] * 2
        [deeper] = forks[0].fork(forks[0].snapshot().id)
        assert deeper.state().step_count == 2
        assert env.diff().services == {}
        assert env.restore(kept).step_count == 1
        assert env.resume().observation == listed.observation
        env.delete_snapshot(kept)
        with pytest.raises(ApiError, match="unknown-snapshot"):
            env.fork(kept.id)


@pytest.mark.parametrize(("token", "problem"), [(None, "token-required"), ("guessed", "unknown-token")])
async def test_a_missing_or_wrong_token_is_rejected_by_every_transport(
    guarded: SecuredEnterprise, token: str | None, problem: str
) -> None:
    with pytest.raises(ApiError) as over_socket:
        async with CompanyOSEnv(base_url=guarded.url, token=token):
            pass
    async with Trainer(guarded.url, headers=bearer(token)) as trainer:
        with pytest.raises(ApiError) as over_http:
            await trainer.episodes()
    for refusal in (over_socket.value, over_http.value):
        assert (refusal.problem, refusal.status) == (problem, 401)


@pytest.mark.parametrize("episode_id", ["..", ".", "ä", "a?from=1", "a#b"])
async def test_an_id_with_special_characters_is_accepted(guarded: SecuredEnterprise, episode_id: str) -> None:
    async with Trainer(guarded.url, headers=bearer(guarded.token)) as trainer:
        with pytest.raises(ApiError) as refusal:
            await trainer.diff(episode_id)
        assert refusal.value.problem == "unknown-episode"


@pytest.mark.parametrize("episode_id", ["../snapshots", "", "a/../../snapshots"])
async def test_an_id_cannot_reach_another_route(guarded: SecuredEnterprise, episode_id: str) -> None:
    async with Trainer(guarded.url, headers=bearer(guarded.token)) as trainer:
        for refused in (trainer.diff(episode_id), trainer.episode(episode_id), trainer.snapshot(episode_id)):
            with pytest.raises(ApiError) as refusal:
                await refused
            assert refusal.value.problem == "not-found"


async def test_a_server_that_is_not_companyos_is_an_api_error(tiny_url: str) -> None:
    async with Trainer(tiny_url) as trainer:
        with pytest.raises(ApiError) as refusal:
            await trainer.episodes()
        assert refusal.value.problem == "http-404"
        reason = "returned status 404 without a problem document; is it a CompanyOS server?"
        assert refusal.value.message == f"http-404: {tiny_url}/v1/episodes {reason}"
    async with Trainer(f"{tiny_url}/v1/scenarios?") as trainer:
        with pytest.raises(ApiError, match="unexpected-response"):
            await trainer.episode("x")


async def test_an_unreachable_server_is_a_connection_error() -> None:
    for url in ("http://127.0.0.1:9", "http://[", "nowhere"):
        async with Trainer(url) as trainer:
            with pytest.raises(ConnectionError):
                await trainer.episodes()


def lose_connection(env: CompanyOSEnv) -> None:
    assert env._ws is not None
    env._ws.transport.abort()
