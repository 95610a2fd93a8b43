"""A week that is forked, killed and resumed midway ends like an uninterrupted one."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests

from companyos_players.registry import fair_player
from tests.integration.http_episode import HttpEpisode
from tests.integration.test_shutdown import gateway
from tests.scenarios.engine import EpisodeSpec, open_player

WEEK = "shift-week"


@pytest.mark.parametrize(("seed", "chaos"), [(0, 1), pytest.param(1, 4, marks=pytest.mark.matrix)])
def test_a_week_with_forks_and_kills_ends_like_an_undisturbed_one(
    tmp_path: Path, http: requests.Session, seed: int, chaos: int
) -> None:
    with open_player(tmp_path / "undisturbed") as play_all:
        (kept,) = play_all([EpisodeSpec(scenario=WEEK, player=fair_player(WEEK), seed=seed, chaos=chaos)])
    assert kept.result.success
    steps = [(one.tool, one.arguments) for one in kept.step_records]
    first, second = steps[: len(steps) // 2], steps[len(steps) // 2 :]
    with gateway(tmp_path / "killed", http) as running:
        week = HttpEpisode(running.url, http)
        week.reset(scenario=WEEK, seed=seed, chaos=chaos)
        for tool, arguments in first:
            week.step(tool, **arguments)
        taken = http.post(f"{running.url}/v1/episodes/{week.id}/snapshots").json()["id"]
    with gateway(tmp_path / "killed", http) as running:  # the first one was ended by SIGKILL
        week.url = running.url
        (opened,) = http.post(f"{running.url}/v1/snapshots/{taken}/fork", json={"count": 1}).json()
        fork = HttpEpisode(running.url, http, opened["episode_id"], list(week.observed))
        for episode in (week, fork):
            for tool, arguments in second:
                episode.step(tool, **arguments)
            assert episode.state()["success"]
            assert episode.state()["return"] == pytest.approx(kept.result.return_)
    assert week.observed == fork.observed
