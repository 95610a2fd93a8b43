"""The description of a played episode states why it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from companyos.policies import Call, TaskView
from companyos_players.player import Player, replay_of
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, open_player

NAME = "bug_escalation"


async def stop(_task: TaskView, _call: Call) -> None:
    """Raise the error of a broken player."""
    raise LookupError("no such record")


@pytest.mark.parametrize(
    ("player", "result"),
    [
        (fair_player(NAME), "success"),
        (stop, "failed, LookupError: no such record"),
        (
            replay_of([("finish", {"outcome": "impossible", "summary": ""})]),
            "failed, declared: finish: expected outcome: done, found outcome: impossible, no reason",
        ),
    ],
    ids=["solved", "stopped", "given-up"],
)
def test_a_failed_episode_is_described_with_its_primary_failure(player: Player, result: str, tmp_path: Path) -> None:
    with open_player(tmp_path / "data") as play_all:
        (kept,) = play_all([EpisodeSpec(scenario=NAME, player=player, seed=0)])
    assert kept.result.place.partition(", seed 0, chaos 1: ")[2] == result
