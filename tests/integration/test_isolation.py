"""Episodes are isolated: a seed gives the same episode to every client at any concurrency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import requests

from companyos.enterprise import Enterprise
from companyos.runner import EpisodePlan, play_all
from tests.integration.http_episode import HttpEpisode

SEEDS = (11, 12)


@pytest.fixture(params=["one gateway", "two workers"])
def address(request: pytest.FixtureRequest, url: str, workers: Enterprise) -> str:
    """The address of one gateway, and of two workers."""
    return url if request.param == "one gateway" else workers.url


def _script(episode: HttpEpisode, seed: int) -> Iterator[None]:
    """Play reads and writes in all three services, one step per iteration."""
    episode.reset(seed=seed, chaos=1)
    yield
    tickets = episode.result("ticketdesk_list_tickets")["items"]
    for ticket in tickets[:3]:
        yield
        episode.step("ticketdesk_add_comment", key=ticket["key"], body=f"Seen by the player of {seed}.")
        yield
        episode.step("ticketdesk_list_comments", key=ticket["key"])
    for tool_name in ("datahub_list_metrics", "datahub_list_sources", "approvalflow_list_approvals"):
        yield
        episode.step(tool_name)
    yield
    episode.step("wait", until="next_working_morning")
    yield
    episode.step("ticketdesk_list_tickets")


def _play(episodes: Sequence[HttpEpisode], seeds: Sequence[int]) -> list[str]:
    """Play scripts in turns, one step each, and return the digest of each episode."""
    scripts: list[Iterator[Any]] = [_script(episode, seed) for episode, seed in zip(episodes, seeds, strict=True)]
    while scripts:
        scripts = [script for script in scripts if next(script, script) is not script]
    return [episode.digest for episode in episodes]


def test_two_interleaved_episodes_are_isolated(address: str, http: requests.Session) -> None:
    alone = [_play([HttpEpisode(address, http)], [seed])[0] for seed in SEEDS]
    together = _play([HttpEpisode(address, http) for _ in SEEDS], SEEDS)
    assert together == alone
    assert len(set(alone)) == len(SEEDS)


def test_the_same_seed_played_twice_at_once_gives_the_same_episode(address: str, http: requests.Session) -> None:
    first, second = (HttpEpisode(address, http) for _ in range(2))
    digests = _play([first, second], [SEEDS[0]] * 2)
    assert digests[0] == digests[1]
    assert first.id != second.id


def test_writes_of_one_episode_are_not_visible_in_another(address: str, http: requests.Session) -> None:
    writer, reader = HttpEpisode(address, http), HttpEpisode(address, http)
    for episode in (writer, reader):
        episode.reset(seed=SEEDS[0], chaos=0)
    key = writer.result("ticketdesk_list_tickets")["items"][0]["key"]
    before = reader.result("ticketdesk_list_comments", key=key)
    writer.result("ticketdesk_add_comment", key=key, body="Only here.")
    assert reader.result("ticketdesk_list_comments", key=key) == before
    assert writer.result("ticketdesk_list_comments", key=key)["total"] == before["total"] + 1


async def test_policies_play_the_same_in_parallel_and_alone(address: str) -> None:
    plans = [
        EpisodePlan(scenario="vendor_onboarding", seed=seed, chaos=chaos, policy=policy)
        for policy, chaos in (("oracle", 1), ("oracle", 2), ("random", 1))
        for seed in range(3)
    ]
    together = await play_all(address, plans, parallel=len(plans))
    alone = await play_all(address, plans, parallel=1)
    assert [episode.record for episode in together] == [episode.record for episode in alone]
    assert len({episode.record.digest for episode in alone}) == len(plans)
    assert all(episode.record.success for episode in alone if episode.plan.policy == "oracle")
