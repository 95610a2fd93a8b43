"""Oracles succeed and adversaries fail over the in-process gateway; a small version of `verification.proof`."""

from __future__ import annotations

import pytest

from companyos.contract import Outcome
from companyos_gateway.chaos import Kind
from companyos_gateway.engine.reward import STEP_COST
from companyos_gateway.evaluation import Evidence
from companyos_players.registry import adversaries_of, fair_player
from tests.scenarios.engine import SCENARIO, EpisodeSpec, PlayAll
from verification.proof import MAX_FAILURE, MIN_FAIR, MIN_SUCCESS, STEP_SHARE, RecordedEpisode
from verification.proof.players.oracles import privileged_oracle

pytestmark = pytest.mark.matrix

FAIR_ORACLE = fair_player(SCENARIO)
LEVELS = (0, 1, 2)
SEEDS = (11, 20)
"""A seed that is feasible at every level, and one that must be refused from level 2 on."""


@pytest.fixture(scope="module")
def oracles(play_all: PlayAll) -> list[RecordedEpisode]:
    grid = [(seed, chaos) for seed in SEEDS for chaos in LEVELS]
    return play_all(
        [
            EpisodeSpec(player=player, seed=seed, chaos=chaos)
            for seed, chaos in grid
            for player in (FAIR_ORACLE, privileged_oracle(SCENARIO, seed, chaos))
        ]
    )


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
