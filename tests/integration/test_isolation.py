"""Episodes are isolated: a seed gives the same episode to every client at any concurrency."""

from __future__ import annotations

import pytest

from companyos.enterprise import Enterprise
from companyos.runner import EpisodePlan, play_all


@pytest.fixture(params=["one gateway", "two workers"])
def address(request: pytest.FixtureRequest, url: str, workers: Enterprise) -> str:
    """The address of one gateway, and of two workers."""
    return url if request.param == "one gateway" else workers.url


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
