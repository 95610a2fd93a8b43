"""What EVERY scenario owes when it is played: its oracles solve it, no single call and no cheat does."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.policies import Call, StepView, TaskView
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.proof import STEP_SHARE
from companyos_gateway.proof.players.oracles import replayed
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.solutions import solutions_of
from tests.scenarios.stage import PlayAll, Wanted
from tests.scenarios.ways import CALM_WIRE, LEVEL, Way, both_ways


@pytest.fixture(scope="module", params=sorted(catalogue()))
def ways(request: pytest.FixtureRequest, play_all: PlayAll) -> list[Way]:
    """The ways through a feasible instance and one that must be refused."""
    return both_ways(play_all, request.param)


def test_the_clairvoyant_oracle_succeeds(ways: list[Way]) -> None:
    for way in ways:
        assert way.kept.played.success, (way.seed, way.kept.played.trouble)


def test_the_fair_oracle_succeeds_well_within_its_steps(ways: list[Way], play_all: PlayAll) -> None:
    name = ways[0].scenario
    fair = solutions_of(name).fair
    wanted = [Wanted(scenario=name, player=fair, seed=way.seed, chaos=4) for way in ways]
    for kept in play_all(wanted):
        assert kept.played.success, (kept.played.seed, kept.played.chaos, kept.played.trouble)
        assert kept.played.steps <= STEP_SHARE * kept.played.max_steps


def test_the_fair_oracle_gets_past_everything_at_once_with_the_tools_of_the_task(
    ways: list[Way], play_all: PlayAll
) -> None:
    used: set[str] = set()
    name = ways[0].scenario

    async def watched(task: TaskView, call: Call) -> None:
        async def noted(tool: str, arguments: dict[str, Any], /) -> StepView:
            used.add(tool)
            return await call(tool, arguments)

        await solutions_of(name).fair(task, noted)

    everything = {kind.value: 1.0 for kind in Kind if kind.group is not Group.TRANSPORT}
    wanted = [Wanted(scenario=name, player=watched, seed=31, chaos=0, overrides=everything)]
    for kept in play_all(wanted):
        assert kept.played.success, (kept.played.seed, kept.played.trouble)
        assert used - {"wait", "finish"} <= set(kept.instance.task_tools)


def test_no_single_call_is_enough(ways: list[Way], play_all: PlayAll) -> None:
    for way in ways:
        once = list({repr(write): write for write in way.writes}.values())
        players = [replayed([write]) for write in once]
        wanted = [
            Wanted(scenario=way.scenario, player=one, seed=way.seed, chaos=LEVEL, overrides=CALM_WIRE)
            for one in players
        ]
        for write, kept in zip(once, play_all(wanted), strict=True):
            assert not kept.played.success, (way.scenario, write)


def test_a_cheat_that_is_the_scenarios_own_fails(ways: list[Way], play_all: PlayAll) -> None:
    feasible = ways[0]
    solutions = solutions_of(feasible.scenario)
    own = {
        name: cheat for name, cheat in solutions.cheats.items() if name not in _USUAL and name not in solutions.needs
    }
    assert own
    wanted = [
        Wanted(scenario=feasible.scenario, player=cheat, seed=feasible.seed, chaos=LEVEL, overrides=CALM_WIRE)
        for cheat in own.values()
    ]
    for name, kept in zip(own, play_all(wanted), strict=True):
        assert not kept.played.success, name


_USUAL = frozenset(
    {"do_nothing", "close_others", "repeat_farm", "resolve_first", "stall", "ask_twice", "skip_approval"}
)
