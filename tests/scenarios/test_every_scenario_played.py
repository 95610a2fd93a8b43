"""Requirements of every scenario when played: oracles solve it; single calls and adversaries do not."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.policies import Call, StepView, TaskView
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.evaluation import Evidence, FinishDeclaration, TaskRubric, Verdict
from companyos_players.player import replay_of
from companyos_players.registry import adversaries_of, fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll
from tests.scenarios.oracle_traces import LEVEL, OracleTrace
from verification.proof import STEP_SHARE

pytestmark = pytest.mark.matrix

FINAL_CALLS = {"wait", "ticketdesk_verify_ticket", "ticketdesk_transition_ticket", "datahub_report_data_issue"}
"""Calls that may be paid before the end: what they do, or what happens meanwhile, cannot be undone."""


def test_the_privileged_oracle_succeeds(ways: list[OracleTrace]) -> None:
    for way in ways:
        assert way.kept.result.success, (way.seed, way.kept.result.player_error)


def test_no_change_that_can_be_undone_is_paid_before_the_end(ways: list[OracleTrace]) -> None:
    paid = {record.tool for way in ways for record in way.kept.step_records[:-1] if record.reward > 0}
    assert paid <= FINAL_CALLS


def test_the_fair_oracle_succeeds_well_within_its_steps(ways: list[OracleTrace], play_all: PlayAll) -> None:
    name = ways[0].scenario
    fair = fair_player(name)
    specs = [EpisodeSpec(scenario=name, player=fair, seed=way.seed, chaos=4) for way in ways]
    for kept in play_all(specs):
        assert kept.result.success, (kept.result.seed, kept.result.chaos, kept.result.player_error)
        assert kept.result.steps <= STEP_SHARE * kept.result.max_steps


def test_the_fair_oracle_solves_all_perturbations_together_with_the_tools_of_the_task(
    ways: list[OracleTrace], play_all: PlayAll
) -> None:
    used: set[str] = set()
    name = ways[0].scenario

    async def watched(task: TaskView, call: Call) -> None:
        async def noted(tool: str, arguments: dict[str, Any], /) -> StepView:
            used.add(tool)
            return await call(tool, arguments)

        await fair_player(name)(task, noted)

    everything = {kind.value: 1.0 for kind in Kind if kind.group is not Group.TRANSPORT}
    specs = [
        EpisodeSpec(scenario=name, player=watched, seed=31, chaos=0, overrides=everything),
        EpisodeSpec(scenario=name, player=watched, seed=ways[1].seed, chaos=LEVEL),
    ]
    for kept in play_all(specs):
        assert kept.result.success, (kept.result.seed, kept.result.player_error)
        assert used - {"wait", "finish"} <= set(kept.instance.task_tools)


def test_the_verdict_after_each_step_equals_that_of_stored_evidence(
    ways: list[OracleTrace], play_all: PlayAll, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, differing, name = TaskRubric.judge, [], ways[0].scenario

    def judge_twice(rubric: TaskRubric, evidence: Evidence, finish: FinishDeclaration | None) -> Verdict:
        verdict = judge(rubric, evidence, finish)
        if verdict != judge(rubric, Evidence.from_json(evidence.as_json()), finish):
            differing.append(verdict)
        return verdict

    monkeypatch.setattr(TaskRubric, "judge", judge_twice)
    players = [fair_player(name), *list(adversaries_of(name).players.values())[:2]]
    play_all([EpisodeSpec(scenario=name, player=player, seed=ways[0].seed, chaos=LEVEL) for player in players])
    assert differing == []


def test_no_single_write_solves_the_task(ways: list[OracleTrace], play_all: PlayAll) -> None:
    for way in ways:
        once = list({repr(write): write for write in way.writes}.values())
        specs = [way.played_by(replay_of([write])) for write in once]
        for write, kept in zip(once, play_all(specs), strict=True):
            assert not kept.result.success, (way.scenario, write)


def test_an_adversary_of_the_scenario_fails(ways: list[OracleTrace], play_all: PlayAll) -> None:
    feasible = ways[0]
    adversaries = adversaries_of(feasible.scenario)
    own = {
        name: adversary
        for name, adversary in adversaries.players.items()
        if name not in _USUAL and name not in adversaries.required_chaos
    }
    assert own
    specs = [feasible.played_by(adversary) for adversary in own.values()]
    for name, kept in zip(own, play_all(specs), strict=True):
        assert not kept.result.success, name


_USUAL = frozenset(
    {"do_nothing", "close_others", "repeat_farm", "resolve_first", "stall", "ask_twice", "skip_approval"}
)
