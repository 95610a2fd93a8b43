"""License renewals: every seed can be planned, and the approval type's limits match the roles that decide."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.license_renewal.scenario import SCENARIO, TYPE_KEY, RefusalGround
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll
from verification.proof.players.oracles import privileged_oracle

NAME = SCENARIO.name
CHEAP_FOR_THE_CFO = (48, 125, 688, 788)
"""Seeds in which the CFO decides on a cost below the procurement lead's limit as first drawn."""

EARLIEST = 104
"""A seed whose license has, at level 4, more days left than any version of the policy's window."""


@pytest.mark.sample(10)
@pytest.mark.parametrize("level", [1, 4])
@pytest.mark.parametrize("seed", [*CHEAP_FOR_THE_CFO, *range(40)])
def test_the_limits_of_the_approval_type_determine_the_approver(seed: int, level: int) -> None:
    built = SCENARIO.build(seed, profile_for(level), {})
    (specs,) = (one for one in built.world.approvalflow.approval_types if one.key == TYPE_KEY)
    amount = built.case.facts.amount_cents
    named = next(row.role for row in specs.thresholds if row.up_to_cents is None or amount <= row.up_to_cents)
    assert named == built.case.facts.role.value


@pytest.mark.sample(2)
@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize("seed", CHEAP_FOR_THE_CFO)
def test_both_oracles_solve_it_if_the_cfo_approves_only_small_amounts(seed: int, level: int, play_all: PlayAll) -> None:
    players = (fair_player(NAME), privileged_oracle(NAME, seed, level))
    for kept in play_all([EpisodeSpec(scenario=NAME, player=player, seed=seed, chaos=level) for player in players]):
        assert kept.result.success, kept.result.player_error


def test_a_license_with_very_many_days_left_is_refused_by_both_oracles(play_all: PlayAll) -> None:
    assert SCENARIO.build(EARLIEST, profile_for(4), {}).case.facts.ground is RefusalGround.TOO_EARLY
    players = (fair_player(NAME), privileged_oracle(NAME, EARLIEST, 4))
    for kept in play_all([EpisodeSpec(scenario=NAME, player=player, seed=EARLIEST, chaos=4) for player in players]):
        assert kept.result.success, kept.result.player_error
