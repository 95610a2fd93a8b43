"""What EVERY scenario owes when it is played: its oracles solve it, no part of their way may be left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from companyos.policies import Call, EpisodeOver, StepView, TaskView
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.proof import STEP_SHARE, Player
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.solutions import solutions_of
from tests.scenarios.endings import Ending
from tests.scenarios.stage import Kept, Wanted, play_all
from tests.scenarios.ways import CALM_WIRE, LEVEL, Way, both_ways

ON_THE_WAY = (None, "open", "in_progress")


@pytest.fixture(scope="module", params=sorted(catalogue()))
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Way]:
    """The ways through a feasible instance and one that must be refused."""
    return both_ways(tmp_path_factory.mktemp("ways"), request.param)


def test_the_clairvoyant_oracle_succeeds(ways: list[Way]) -> None:
    for way in ways:
        assert way.kept.played.success, (way.seed, way.kept.played.trouble)


def test_the_fair_oracle_succeeds_well_within_its_steps(ways: list[Way], tmp_path: Path) -> None:
    name = ways[0].scenario
    fair = solutions_of(name).fair
    wanted = [Wanted(scenario=name, player=fair, seed=way.seed, chaos=4) for way in ways]
    for kept in play_all(tmp_path, wanted):
        assert kept.played.success, (kept.played.seed, kept.played.chaos, kept.played.trouble)
        assert kept.played.steps <= STEP_SHARE * kept.played.max_steps


def test_the_fair_oracle_gets_past_everything_at_once_with_the_tools_of_the_task(
    ways: list[Way], tmp_path: Path
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
    for kept in play_all(tmp_path, wanted):
        assert kept.played.success, (kept.played.seed, kept.played.trouble)
        assert used - {"wait", "finish"} <= set(kept.instance.task_tools)


def test_no_required_write_may_be_left_out(ways: list[Way]) -> None:
    """Drop all that one call of the agent changed, at once or later; only steps between states can be spared."""
    for way in ways:
        causes = {change["cause"] for change in _changes(way.kept)} - {None}
        required = [cause for cause in causes if not _is_between_states(way.kept, cause)]
        assert len(required) >= 1
        for cause in required:
            ending = Ending(way.kept)
            ending.drop(cause)
            assert not ending.judge().success, (way.scenario, way.seed, cause)


def test_no_single_call_is_enough(ways: list[Way], tmp_path: Path) -> None:
    for number, way in enumerate(ways):
        once = list({repr(write): write for write in way.writes}.values())
        players = [_single(*write) for write in once]
        wanted = [
            Wanted(scenario=way.scenario, player=one, seed=way.seed, chaos=LEVEL, overrides=CALM_WIRE)
            for one in players
        ]
        folder = tmp_path / str(number)
        folder.mkdir()
        for write, kept in zip(once, play_all(folder, wanted), strict=True):
            assert not kept.played.success, (way.scenario, write)


def test_a_cheat_that_is_the_scenarios_own_fails(ways: list[Way], tmp_path: Path) -> None:
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
    for name, kept in zip(own, play_all(tmp_path, wanted), strict=True):
        assert not kept.played.success, name


_USUAL = frozenset(
    {"do_nothing", "close_others", "repeat_farm", "resolve_first", "stall", "ask_twice", "skip_approval"}
)


def _single(tool: str, arguments: dict[str, Any]) -> Player:
    async def single(_task: TaskView, call: Call) -> None:
        await call(tool, arguments)
        raise EpisodeOver

    return single


def _changes(kept: Kept) -> Iterator[dict[str, Any]]:
    for rows in Ending(kept).changes.values():
        yield from rows


def _is_between_states(kept: Kept, cause: str) -> bool:
    """Say whether a call only moved the entry ticket to a status that it did not end in."""
    end = kept.instance.rubric.checks[0].id
    on_the_way = ON_THE_WAY if end != "ticket_started" else ON_THE_WAY[:2]
    rows = [change for change in _changes(kept) if change["cause"] == cause]
    tickets = [change for change in rows if change["table"] == "tickets"]
    tables = {change["table"] for change in rows}
    moved = all(change["after"]["status"] in on_the_way for change in tickets)
    return bool(tickets) and tables <= {"tickets", "transitions"} and moved and _only_moves(tickets)


def _only_moves(tickets: list[dict[str, Any]]) -> bool:
    return all(change["before"]["status"] != change["after"]["status"] for change in tickets)
