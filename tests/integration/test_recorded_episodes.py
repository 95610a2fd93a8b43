"""A part of `make recorded-episodes`, which notices most changes of tasks and observations."""

from __future__ import annotations

from verification import recorded_episodes


async def test_one_recorded_episode_of_each_scenario_is_played_again_with_the_same_observations(url: str) -> None:
    recorded = recorded_episodes.read_rows()
    names = sorted({name.partition(" ")[0] for name in recorded} - {"GET"})
    planned = [
        plan
        for name in names
        for plan in recorded_episodes.plans(name)
        if (plan.policy, plan.chaos, plan.seed) == ("oracle", 1, 0)
    ]
    observed = await recorded_episodes.play(url, planned)
    assert len(observed) == len(names) > 20
    assert [name for name, row in observed.items() if recorded[name] != row] == [], recorded_episodes.HINT
