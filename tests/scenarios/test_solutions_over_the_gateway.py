"""Oracles succeed and cheats fail, over the whole gateway in process; a smoke size of `companyos_gateway.proof`."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.contract import Outcome
from companyos.policies import Call, StepView, TaskView, load_policy
from companyos_gateway.chaos import Group, Kind
from companyos_gateway.episode.outcome import STEP_COST
from companyos_gateway.proof import LEAST_FAIR, LEAST_SUCCESS, MOST_FAILURE, STEP_SHARE, Kept, Player
from companyos_gateway.rubrics import Evidence
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.skills import Hands
from companyos_gateway.scenarios.solutions import solutions_of
from tests.scenarios.stage import SCENARIO, PlayAll, Wanted

SOLUTIONS = solutions_of(SCENARIO)
LEVELS = (0, 1, 2)
SEEDS = (11, 20)
"""One that is feasible at every level, and one that must be refused from level 2 on."""


def _clairvoyant(seed: int, chaos: int) -> Player:
    async def clairvoyant(_task: TaskView, call: Call) -> None:
        await SOLUTIONS.clairvoyant(seed, chaos, call)

    return clairvoyant


def _oracle_plans() -> list[Wanted]:
    grid = [(seed, chaos) for seed in SEEDS for chaos in LEVELS]
    fair = [Wanted(player=SOLUTIONS.fair, seed=seed, chaos=chaos) for seed, chaos in grid]
    return fair + [Wanted(player=_clairvoyant(seed, chaos), seed=seed, chaos=chaos) for seed, chaos in grid]


@pytest.fixture(scope="module")
def oracles(play_all: PlayAll) -> list[Kept]:
    return play_all(_oracle_plans())


def test_both_oracles_succeed_at_every_level(oracles: list[Kept]) -> None:
    for kept in oracles:
        played = kept.played
        assert played.outcome is Outcome.SUCCESS, (played.player, played.seed, played.chaos, played.trouble)
        assert played.return_ >= (LEAST_FAIR if played.player == "play" else LEAST_SUCCESS)
        assert played.steps <= STEP_SHARE * played.max_steps


def test_the_potential_from_stored_evidence_is_the_one_that_was_paid(oracles: list[Kept]) -> None:
    for kept in oracles:
        verdict = kept.instance.rubric.judge(Evidence.from_json(kept.evidence.as_json()), kept.finish)
        assert verdict.success
        costs = kept.played.return_ - 15.0 - verdict.potential
        assert -8.0 <= costs <= -STEP_COST * kept.played.steps + 1e-9


def test_the_evidence_folds_to_what_the_services_hold(oracles: list[Kept]) -> None:
    """The gateway compares the digests at the end; a difference would have been an `infra_error`."""
    assert all(kept.played.outcome is not Outcome.INFRA_ERROR for kept in oracles)
    assert all(kept.evidence.changes(service) for kept in oracles[:1] for service in ("ticketdesk", "approvalflow"))


def test_the_same_seed_is_the_same_trajectory(play_all: PlayAll, oracles: list[Kept]) -> None:
    again = play_all([Wanted(player=SOLUTIONS.fair, seed=SEEDS[0], chaos=2)])[0]
    first = next(one for one in oracles if (one.played.seed, one.played.chaos) == (SEEDS[0], 2))
    assert again.played.digest == first.played.digest


def test_no_cheat_succeeds(play_all: PlayAll) -> None:
    wanted = [
        Wanted(player=cheat, seed=seed, chaos=chaos)
        for cheat in SOLUTIONS.cheats.values()
        for seed, chaos in ((11, 0), (11, 1), (20, 2))
    ]
    for kept in play_all(wanted):
        played = kept.played
        needed = SOLUTIONS.needs.get(played.player)
        if needed is None or needed in played.kinds:
            assert played.outcome is Outcome.FAILED or played.outcome is Outcome.OUT_OF_STEPS, played.player
            assert played.return_ <= MOST_FAILURE


def test_the_fair_oracle_gets_past_every_kind_of_chaos(play_all: PlayAll) -> None:
    usual = {"stale_metric": 1.0, "approver_out_of_office": 1.0}
    forced = [{**usual, kind.value: 1.0} for kind in Kind]
    wanted = [Wanted(player=SOLUTIONS.fair, seed=31, chaos=0, overrides=overrides) for overrides in forced]
    for kind, kept in zip(Kind, play_all(wanted), strict=True):
        assert kept.played.success, (kind, kept.played.trouble)
        assert kind in kept.played.kinds


@pytest.mark.parametrize("chaos", [3, 4])
def test_the_fair_oracle_gets_through_heavy_weather(play_all: PlayAll, chaos: int) -> None:
    kept = play_all([Wanted(player=SOLUTIONS.fair, seed=seed, chaos=chaos) for seed in (11, 12)])
    assert all(one.played.success for one in kept), [one.played.trouble for one in kept]


def test_the_tools_of_the_task_are_enough_and_exist(play_all: PlayAll) -> None:
    used: set[str] = set()

    async def watched(task: TaskView, call: Call) -> None:
        async def noted(tool: str, arguments: dict[str, Any], /) -> StepView:
            used.add(tool)
            return await call(tool, arguments)

        await SOLUTIONS.fair(task, noted)

    async def offered(task: TaskView, _call: Call) -> None:
        assert {tool.name for tool in task.tools} >= set(catalogue()[SCENARIO].plan(0, 0).task_tools)

    overrides = {kind.value: 1.0 for kind in Kind if kind.group is not Group.TRANSPORT}
    wanted = [Wanted(player=watched, seed=31, chaos=0, overrides=overrides), Wanted(player=watched, seed=20, chaos=2)]
    kept = play_all([*wanted, Wanted(player=offered, seed=1, chaos=0)])
    assert [one.played.trouble for one in kept] == [None, None, None]
    assert used - {"wait", "finish"} <= set(kept[0].instance.task_tools)


def test_the_oracle_is_an_installed_policy(play_all: PlayAll) -> None:
    policy = load_policy("oracle")
    assert policy.name == "oracle"
    kept = play_all([Wanted(player=policy.play, seed=12, chaos=1)])[0]
    assert kept.played.success


def test_no_single_call_is_enough(play_all: PlayAll) -> None:
    async def resolve(task: TaskView, call: Call) -> None:
        key = next(
            word.strip(",;:.") for word in task.brief.split() if "-" in word and word.strip(",;:.")[-1].isdigit()
        )
        await Hands(call).ask("ticketdesk_transition_ticket", key=key, to="resolved")

    kept = play_all([Wanted(player=resolve, seed=11, chaos=0)])[0]
    assert not kept.played.success
