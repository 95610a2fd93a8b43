"""Oracles succeed and adversaries fail over the in-process gateway; a small version of `verification.proof`."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.contract import Outcome
from companyos.policies import Call, StepView, TaskView, load_policy
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.engine.reward import STEP_COST
from companyos_gateway.evaluation import Evidence
from companyos_gateway.scenarios import catalogue
from companyos_players import ToolClient
from companyos_players.registry import adversaries_of, fair_player
from tests.scenarios.engine import SCENARIO, EpisodeSpec, PlayAll
from verification.proof import MAX_FAILURE, MIN_FAIR, MIN_SUCCESS, STEP_SHARE, RecordedEpisode
from verification.proof.players.oracles import privileged_oracle

pytestmark = pytest.mark.matrix

FAIR_ORACLE = fair_player(SCENARIO)
LEVELS = (0, 1, 2)
SEEDS = (11, 20)
"""A seed that is feasible at every level, and one that must be refused from level 2 on."""


def _oracle_plans() -> list[EpisodeSpec]:
    grid = [(seed, chaos) for seed in SEEDS for chaos in LEVELS]
    fair = [EpisodeSpec(player=FAIR_ORACLE, seed=seed, chaos=chaos) for seed, chaos in grid]
    return fair + [
        EpisodeSpec(player=privileged_oracle(SCENARIO, seed, chaos), seed=seed, chaos=chaos) for seed, chaos in grid
    ]


@pytest.fixture(scope="module")
def oracles(play_all: PlayAll) -> list[RecordedEpisode]:
    return play_all(_oracle_plans())


def test_both_oracles_succeed_at_every_level(oracles: list[RecordedEpisode]) -> None:
    for kept in oracles:
        result = kept.result
        assert result.outcome is Outcome.SUCCESS, (result.player, result.seed, result.chaos, result.player_error)
        assert result.return_ >= (MIN_FAIR if result.player == "play" else MIN_SUCCESS)
        assert result.steps <= STEP_SHARE * result.max_steps


def test_the_potential_from_stored_evidence_equals_the_paid_one(oracles: list[RecordedEpisode]) -> None:
    for kept in oracles:
        verdict = kept.instance.rubric.judge(Evidence.from_json(kept.evidence.as_json()), kept.finish)
        assert verdict.success
        costs = kept.result.return_ - 15.0 - verdict.potential - verdict.at_end
        assert -8.0 <= costs <= -STEP_COST * kept.result.steps + 1e-9


def test_the_evidence_folds_to_the_rows_of_the_services(oracles: list[RecordedEpisode]) -> None:
    """The gateway compares the digests at the end; a difference would result in an `infra_error`."""
    assert all(kept.result.outcome is not Outcome.INFRA_ERROR for kept in oracles)
    assert all(kept.evidence.changes(service) for kept in oracles[:1] for service in ("ticketdesk", "approvalflow"))


def test_the_same_seed_gives_the_same_trajectory(play_all: PlayAll, oracles: list[RecordedEpisode]) -> None:
    again = play_all([EpisodeSpec(player=FAIR_ORACLE, seed=SEEDS[0], chaos=2)])[0]
    first = next(one for one in oracles if (one.result.seed, one.result.chaos) == (SEEDS[0], 2))
    assert again.result.digest == first.result.digest


def test_no_adversary_succeeds(play_all: PlayAll) -> None:
    adversaries = adversaries_of(SCENARIO)
    specs = [
        EpisodeSpec(player=adversary, seed=seed, chaos=chaos)
        for adversary in adversaries.players.values()
        for seed, chaos in ((11, 0), (11, 1), (20, 2))
    ]
    for kept in play_all(specs):
        result = kept.result
        needed = adversaries.required_chaos.get(result.player)
        if needed is None or needed in result.kinds:
            assert result.outcome is Outcome.FAILED or result.outcome is Outcome.OUT_OF_STEPS, result.player
            assert result.return_ <= MAX_FAILURE


def test_the_fair_oracle_solves_every_kind_of_chaos(play_all: PlayAll) -> None:
    usual = {"stale_metric": 1.0, "approver_out_of_office": 1.0}
    forced = [{**usual, kind.value: 1.0} for kind in Kind]
    specs = [EpisodeSpec(player=FAIR_ORACLE, seed=31, chaos=0, overrides=overrides) for overrides in forced]
    for kind, kept in zip(Kind, play_all(specs), strict=True):
        assert kept.result.success, (kind, kept.result.player_error)
        assert kind in kept.result.kinds


@pytest.mark.parametrize("chaos", [3, 4])
def test_the_fair_oracle_succeeds_at_high_levels(play_all: PlayAll, chaos: int) -> None:
    kept = play_all([EpisodeSpec(player=FAIR_ORACLE, seed=seed, chaos=chaos) for seed in (11, 12)])
    assert all(one.result.success for one in kept), [one.result.player_error for one in kept]


def test_the_tools_of_the_task_exist_and_are_sufficient(play_all: PlayAll) -> None:
    used: set[str] = set()

    async def watched(task: TaskView, call: Call) -> None:
        async def noted(tool: str, arguments: dict[str, Any], /) -> StepView:
            used.add(tool)
            return await call(tool, arguments)

        await FAIR_ORACLE(task, noted)

    async def offered(task: TaskView, _call: Call) -> None:
        assert {tool.name for tool in task.tools} >= set(catalogue()[SCENARIO].plan(0, 0).task_tools)

    overrides = {kind.value: 1.0 for kind in Kind if kind.group is not Group.TRANSPORT}
    specs = [
        EpisodeSpec(player=watched, seed=31, chaos=0, overrides=overrides),
        EpisodeSpec(player=watched, seed=20, chaos=2),
    ]
    kept = play_all([*specs, EpisodeSpec(player=offered, seed=1, chaos=0)])
    assert [one.result.player_error for one in kept] == [None, None, None]
    assert used - {"wait", "finish"} <= set(kept[0].instance.task_tools)


def test_the_oracle_is_an_installed_policy(play_all: PlayAll) -> None:
    policy = load_policy("oracle")
    assert policy.name == "oracle"
    kept = play_all([EpisodeSpec(player=policy.play, seed=12, chaos=1)])[0]
    assert kept.result.success


def test_resolving_the_ticket_alone_does_not_solve_the_task(play_all: PlayAll) -> None:
    async def resolve(task: TaskView, call: Call) -> None:
        key = next(
            word.strip(",;:.") for word in task.brief.split() if "-" in word and word.strip(",;:.")[-1].isdigit()
        )
        await ToolClient(call).call("ticketdesk_transition_ticket", key=key, to="resolved")

    kept = play_all([EpisodeSpec(player=resolve, seed=11, chaos=0)])[0]
    assert not kept.result.success
