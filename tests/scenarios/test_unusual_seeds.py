"""Seeds of unusual instances: they can be planned, and oracles solve them."""

from __future__ import annotations

import pytest

from companyos_approvalflow.seed import Seed
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.license_renewal.scenario import SCENARIO as LICENSE_RENEWAL
from companyos_gateway.scenarios.license_renewal.scenario import TYPE_KEY, RefusalGround
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll
from verification.proof.players.oracles import privileged_oracle

CHEAP_FOR_THE_CFO = (48, 125, 688, 788)
"""License renewals in which the CFO decides on a cost below the procurement lead's limit as first drawn."""

EARLIEST = 104
"""A license renewal with, at level 4, more days left than any version of the policy's window."""

SMALL_TEAM = 66
"""An expense report of a small team, at level 4."""

RECEIPT_TAKES_DAYS = ((182, 2), (17, 3), (172, 3), (50, 4), (105, 4))
"""Expense reports whose receipt arrives after the approver may have changed."""

FEW_COLLEAGUES = (19, 63, 66, 145, 213, 249)
"""Expense reports in which hardly more people can stand in for the manager than MANY_DEAD_ENDS excludes."""

MANY_DEAD_ENDS = dict.fromkeys(
    ("approver_out_of_office", "delegate_out_too", "expired_delegation", "limit_too_low", "approver_leaves"), 1.0
)
MAINTENANCE = 113
"""A metrics report in which maintenance delays the refresh of one of three values, which stay fresh for four hours."""


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("scenario", "seed", "level"),
    [
        *(("license_renewal", seed, level) for seed in CHEAP_FOR_THE_CFO for level in (0, 4)),
        ("license_renewal", EARLIEST, 4),
        ("expense_report", SMALL_TEAM, 4),
    ],
)
def test_both_oracles_succeed(scenario: str, seed: int, level: int, play_all: PlayAll) -> None:
    players = (fair_player(scenario), privileged_oracle(scenario, seed, level))
    specs = [EpisodeSpec(scenario=scenario, player=player, seed=seed, chaos=level) for player in players]
    for kept in play_all(specs):
        assert kept.result.success, kept.result.player_error


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("scenario", "seed", "level", "overrides"),
    [
        *(("expense_report", seed, level, {}) for seed, level in RECEIPT_TAKES_DAYS),
        *(("expense_report", seed, 4, MANY_DEAD_ENDS) for seed in FEW_COLLEAGUES),
        ("metrics_report", MAINTENANCE, 1, {}),
    ],
)
def test_the_fair_oracle_succeeds(
    scenario: str, seed: int, level: int, overrides: dict[str, float], play_all: PlayAll
) -> None:
    player = fair_player(scenario)
    (kept,) = play_all([EpisodeSpec(scenario=scenario, player=player, seed=seed, chaos=level, overrides=overrides)])
    assert kept.result.success, kept.result.player_error


def test_a_license_with_very_many_days_left_must_be_refused() -> None:
    built = LICENSE_RENEWAL.build(EARLIEST, profile_for(4), {})
    assert built.case.facts.ground is RefusalGround.TOO_EARLY


@pytest.mark.sample(10)
@pytest.mark.parametrize("level", [1, 4])
@pytest.mark.parametrize("seed", [*CHEAP_FOR_THE_CFO, *range(40)])
def test_the_limits_of_the_approval_type_determine_the_approver_of_a_license(seed: int, level: int) -> None:
    built = LICENSE_RENEWAL.build(seed, profile_for(level), {})
    (specs,) = (one for one in built.world.approvalflow.approval_types if one.key == TYPE_KEY)
    amount = built.case.facts.amount_cents
    named = next(row.role for row in specs.thresholds if row.up_to_cents is None or amount <= row.up_to_cents)
    assert named == built.case.facts.role.value


@pytest.mark.parametrize(("seed", "level"), [(338, 3), (375, 0)])
def test_the_oldest_open_request_for_a_transfer_has_not_expired(seed: int, level: int) -> None:
    Seed.model_validate(catalogue()["budget_transfer"].plan(seed, level).documents["approvalflow"])
