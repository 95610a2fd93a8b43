"""Questions of approvers about a fact of the case: an answer with the fact is approved, others are not."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.approvers import accepted_answers
from companyos_gateway.scenarios.blocks.declared_scenario import inapplicable_kinds
from companyos_players.adversaries.base import ANSWER_WITH_FILLER
from companyos_players.registry import adversaries_of, fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll
from verification.proof.episode_runner import RecordedEpisode

SCENARIOS = sorted(name for name in catalogue() if ANSWER_WITH_FILLER in adversaries_of(name).players)
IN_DAILY_TESTS = ("bug_escalation",)
WITH_QUESTIONS = {Kind.INFORMATION_REQUEST.value: 1.0}
SEEDS = (0, 1)


def test_every_scenario_with_approvals_has_questions() -> None:
    asking = [name for name, one in catalogue().items() if Kind.INFORMATION_REQUEST not in inapplicable_kinds(one)]
    assert asking == SCENARIOS


def test_answers_are_filled_with_facts() -> None:
    assert accepted_answers({"reason": "Which vendor?", "answer": "{vendor_id}"}, {"vendor_id": "VEN-1"}) == ["VEN-1"]
    assert accepted_answers({"answer": ["{cents}", "{price}"]}, {"cents": 5, "price": "0.05"}) == ["5", "0.05"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_planned_question_has_an_accepted_answer(name: str) -> None:
    for seed in range(8):
        reactions = catalogue()[name].plan(seed, 0, WITH_QUESTIONS).documents["approvalflow"]["reactions"]
        (planned,) = [row for row in reactions if row["kind"] == "request_info"]
        assert planned["accepted"]
        assert all(planned["accepted"])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_DAILY_TESTS else pytest.mark.matrix) for name in SCENARIOS]
)
def test_the_fact_is_approved_and_filler_is_not(name: str, play_all: PlayAll) -> None:
    fair, filler = (
        play_all(
            [EpisodeSpec(scenario=name, player=one, seed=seed, chaos=0, overrides=WITH_QUESTIONS) for seed in SEEDS]
        )
        for one in (fair_player(name), adversaries_of(name).players[ANSWER_WITH_FILLER])
    )
    assert [kept.result.player_error for kept in fair if not kept.result.success] == []
    assert [kept.result.seed for kept in filler if kept.result.success] == []
    assert [_is_left_unanswered(kept) for kept in (*fair, *filler)] == [False] * len(SEEDS) + [True] * len(SEEDS)


def _is_left_unanswered(kept: RecordedEpisode) -> bool:
    decisions = kept.evidence.table("approvalflow", "decisions").values()
    return "information_not_provided" in {decision["reason_code"] for decision in decisions}
