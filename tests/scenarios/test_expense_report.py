"""Expense reports: a receipt may take days, the approver may change meanwhile, and somebody can stand in."""

from __future__ import annotations

import pytest

from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll
from verification.proof.players.oracles import privileged_oracle

NAME = "expense_report"
FEW_COLLEAGUES = (19, 63, 66, 145, 213, 249)
"""Seeds in which hardly more people can stand in for the manager than the kinds below exclude."""

MANY_DEAD_ENDS = dict.fromkeys(
    ("approver_out_of_office", "delegate_out_too", "expired_delegation", "limit_too_low", "approver_leaves"), 1.0
)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("seed", "level"), [(182, 2), (17, 3), (172, 3), (50, 4), (105, 4)])
def test_the_fair_oracle_asks_an_available_approver_after_the_receipt_has_arrived(
    seed: int, level: int, play_all: PlayAll
) -> None:
    (kept,) = play_all([EpisodeSpec(scenario=NAME, player=fair_player(NAME), seed=seed, chaos=level)])
    assert kept.result.success, kept.result.player_error


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", FEW_COLLEAGUES)
def test_the_fair_oracle_finds_an_approver_in_a_small_team(seed: int, play_all: PlayAll) -> None:
    player = fair_player(NAME)
    (kept,) = play_all([EpisodeSpec(scenario=NAME, player=player, seed=seed, chaos=4, overrides=MANY_DEAD_ENDS)])
    assert kept.result.success, kept.result.player_error


def test_both_oracles_solve_a_report_of_a_small_team_at_the_highest_level(play_all: PlayAll) -> None:
    players = (fair_player(NAME), privileged_oracle(NAME, 66, 4))
    for kept in play_all([EpisodeSpec(scenario=NAME, player=player, seed=66, chaos=4) for player in players]):
        assert kept.result.success, kept.result.player_error
