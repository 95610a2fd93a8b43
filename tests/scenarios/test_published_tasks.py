"""Every task of the splits can be solved from an agent's observations: one per scenario, and all in the slow run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from companyos.contract import Split
from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks import TaskPosition, TaskSet
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll

TASKS = TaskSet(catalogue())


def _places(name: str, split: Split) -> list[TaskPosition]:
    positions = (TASKS.position(split, index) for index in range(TASKS.size(split)))
    return [position for position in positions if position.scenario == name]


def _unsolved(positions: Sequence[TaskPosition], play_all: PlayAll) -> dict[str, str | None]:
    """Return the tasks that the fair oracle does not solve, with its error."""
    unsolved = {}
    for position in positions:
        player = fair_player(position.scenario)
        specs = EpisodeSpec(scenario=position.scenario, player=player, seed=TASKS.seed(position), chaos=position.chaos)
        (kept,) = play_all([specs])
        if not kept.result.success:
            unsolved[position.id] = kept.result.player_error
    return unsolved


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(catalogue()))
def test_the_fair_oracle_solves_the_last_task_of_a_scenario(name: str, play_all: PlayAll) -> None:
    last = _places(name, Split.TEST)[-1]
    assert last.uses_held_out_variant
    assert not _unsolved([last], play_all)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("split", list(Split))
@pytest.mark.parametrize("name", sorted(catalogue()))
def test_the_fair_oracle_solves_every_task_of_a_split(name: str, split: Split, play_all: PlayAll) -> None:
    assert not _unsolved(_places(name, split), play_all)
