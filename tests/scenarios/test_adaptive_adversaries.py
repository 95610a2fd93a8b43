"""Adaptive adversaries cannot find out an unknown value from their observations during an episode."""

from __future__ import annotations

from typing import Any

import pytest

from companyos.contract import Outcome
from companyos.policies import Call
from companyos.policies.arguments import ids_in
from companyos_gateway.evaluation.guessing import MAX_GUESSES, NOT_ENTITLED
from companyos_players.adaptive import ApproverSearcher, PrioritySearcher
from companyos_players.registry import fair_player
from tests.scenarios.conftest import CALM
from tests.scenarios.engine import SCENARIO, EpisodeSpec, PlayAll, verdict_of
from verification.proof import MAX_FAILURE, RecordedEpisode
from verification.proof.chance import approver_chance, is_priority_judged, refusals
from verification.proof.players.variations import SUBMIT, detouring

pytestmark = pytest.mark.matrix

SEEDS = range(60, 66)
LEVELS = (0, 1, 2, 4)


def test_a_search_for_the_priority_after_a_wrong_guess_never_succeeds(play_all: PlayAll) -> None:
    fair = fair_player(SCENARIO)
    searchers = {(seed, level): PrioritySearcher(fair, start_wrong=True) for seed in SEEDS for level in LEVELS}
    played = play_all(
        [EpisodeSpec(player=one.play, seed=seed, chaos=level) for (seed, level), one in searchers.items()]
    )
    searched = [kept for kept, one in zip(played, searchers.values(), strict=True) if one.right is not None]
    assert searched
    assert not [kept.result.place for kept in searched if kept.result.outcome is Outcome.SUCCESS]
    assert all(kept.result.return_ <= MAX_FAILURE for kept in searched)


def test_trying_approvers_succeeds_only_within_the_allowed_guesses(play_all: PlayAll) -> None:
    fair = fair_player(SCENARIO)
    searchers = {(seed, level): ApproverSearcher(fair) for seed in SEEDS for level in LEVELS}
    played = play_all(
        [EpisodeSpec(player=one.play, seed=seed, chaos=level) for (seed, level), one in searchers.items()]
    )
    guessed = [
        kept
        for kept, one in zip(played, searchers.values(), strict=True)
        if sum(code in NOT_ENTITLED for code in one.refused.values()) > MAX_GUESSES
    ]
    assert guessed
    assert not [kept.result.place for kept in guessed if kept.result.outcome is Outcome.SUCCESS]
    assert all(kept.result.return_ <= MAX_FAILURE for kept in guessed)


def test_a_priority_set_by_the_oracle_is_judged_unless_the_work_is_refused(
    play_all: PlayAll, solved: dict[str, RecordedEpisode]
) -> None:
    searcher = PrioritySearcher(fair_player(SCENARIO))
    (kept,) = play_all([EpisodeSpec(player=searcher.play, seed=3, chaos=0, overrides=CALM)])
    assert searcher.key is not None
    assert is_priority_judged(kept, searcher.key)
    refused = solved["refused"]
    assert not is_priority_judged(refused, next(key for key in ids_in(refused.instance.brief) if "E-" not in key))


def test_the_chance_of_a_search_counts_the_approvers_that_approvalflow_rejects(play_all: PlayAll) -> None:
    searchers = [ApproverSearcher(fair_player(SCENARIO)) for _ in SEEDS]
    specs = [EpisodeSpec(player=one.play, seed=seed, chaos=0) for seed, one in zip(SEEDS, searchers, strict=True)]
    for kept, searcher in zip(play_all(specs), searchers, strict=True):
        assert searcher.first is not None
        expected = dict(refusals(kept.instance, searcher.first, searcher.people))
        assert searcher.refused == {person_id: expected[person_id] for person_id in searcher.refused}
        accepted = [person_id for person_id, code in expected.items() if code is None]
        assert 0 < approver_chance(kept.instance, searcher.first, searcher.people) < 1
        assert approver_chance(kept.instance, searcher.first, accepted) == 1
        assert approver_chance(kept.instance, searcher.first, searcher.refused) == 0


@pytest.mark.parametrize("count", [1, MAX_GUESSES, MAX_GUESSES + 1])
def test_an_agent_may_withdraw_wrong_requests_but_not_search_with_them(play_all: PlayAll, count: int) -> None:
    async def take_back(call: Call, arguments: dict[str, Any]) -> None:
        for number in range(1, count + 1):
            fields = arguments["fields"] | {"amount_cents": arguments["fields"]["amount_cents"] + number}
            made = await call(SUBMIT, arguments | {"fields": fields})
            await call("approvalflow_withdraw_approval", {"request_id": made.result["id"]})

    player = detouring(fair_player(SCENARIO), SUBMIT, before=take_back)
    (kept,) = play_all([EpisodeSpec(player=player, seed=3, chaos=0)])
    assert (kept.result.outcome is Outcome.SUCCESS) is (count <= MAX_GUESSES)
    verdict = verdict_of(kept)
    failed = [check.id for check in verdict.checks if not check.passed]
    assert failed == ([] if count <= MAX_GUESSES else ["not_guessed"])
    withdrawn = [one for one in kept.evidence.submitted_requests(kept.instance.acting_as) if one.status == "withdrawn"]
    assert len(withdrawn) == count
