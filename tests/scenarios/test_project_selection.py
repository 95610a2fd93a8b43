"""Project selections: exactly one selection is the best, shortcuts lead to others, and guessing does not find it."""

from __future__ import annotations

from itertools import product

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.project_selection.proposals import (
    Proposal,
    Rules,
    Variant,
    best_selection,
    draw_proposals,
)
from companyos_gateway.scenarios.project_selection.scenario import SCENARIO
from companyos_players.registry import fair_player
from companyos_players.scenarios.project_selection import ADVERSARIES
from companyos_shared.streams import Stream
from tests.scenarios.engine import EpisodeSpec, PlayAll, verdict_of

NAME = SCENARIO.name
SHORTCUTS = ("take_first_fit", "take_best_ratio", "take_cheapest", "take_any_valid")
TEAMS = ("data", "legal", "people", "platform")


def proposal(name: str, cost: int, score: int, **fields: str) -> Proposal:
    return Proposal(id=name, cost_cents=cost, score=score, category="automation", team_id="data", **fields)


def rules(available: int, *, most_per_team: int = 9) -> Rules:
    return Rules(
        available_cents=available,
        least_score=50,
        most_per_team=most_per_team,
        bonus_category="compliance",
        bonus_points=10,
    )


def test_the_best_selection_has_the_most_points_and_then_the_lowest_cost() -> None:
    proposals = [proposal("a", 60, 90), proposal("b", 50, 60), proposal("c", 50, 60), proposal("d", 40, 60)]
    assert best_selection(proposals[:3], rules(100)) == frozenset({"b", "c"})
    assert best_selection([proposals[1], proposals[3]], rules(50)) == frozenset({"d"})
    assert best_selection(proposals[1:3], rules(50)) is None


def test_each_rule_can_make_a_selection_invalid() -> None:
    first, other = proposal("a", 60, 90), proposal("b", 50, 60, depends_on="a")
    assert rules(200).find_breach([first, other]) is None
    assert rules(200).find_breach([]) == "nothing is selected"
    assert rules(200).find_breach([proposal("c", 10, 49)]) == "a review score is below 50"
    assert rules(100).find_breach([first, other]) == "the total cost exceeds the available amount"
    assert rules(200, most_per_team=1).find_breach([first, other]) == "more than 1 proposals come from one team"
    assert rules(200).find_breach([other]) == "a proposal is selected without the one that it depends on"


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize("seed", range(5))
def test_no_other_selection_has_more_points(variant: Variant, seed: int) -> None:
    proposals, in_force, others = draw_proposals(Stream("proposals", seed), variant, TEAMS)
    best = best_selection(proposals, in_force)
    assert best is not None
    assert best != best_selection(proposals, others)
    most = sum(in_force.points(one) for one in proposals if one.id in best)
    for chosen in product((False, True), repeat=len(proposals)):
        selected = [one for one, is_chosen in zip(proposals, chosen, strict=True) if is_chosen]
        if in_force.find_breach(selected) is None and {one.id for one in selected} != best:
            assert sum(map(in_force.points, selected)) <= most


def test_a_valid_selection_that_is_not_the_best_is_approved_and_does_not_succeed(play_all: PlayAll) -> None:
    seed = next(seed for seed in range(20) if SCENARIO.build(seed, profile_for(1), {}).case.refusal is None)
    players = (fair_player(NAME), *(ADVERSARIES[name] for name in SHORTCUTS))
    best, *shortcuts = play_all([EpisodeSpec(scenario=NAME, player=player, seed=seed) for player in players])
    assert best.result.success, best.result.player_error
    for shortcut in shortcuts:
        failed = [one.id for one in verdict_of(shortcut).checks if not one.passed]
        assert "best_selection" in failed
        assert "valid_selection" not in failed
        assert next(one for one in shortcut.instance.rubric.milestones if one.id == "approved").is_reached(
            shortcut.evidence
        )


def test_no_milestone_depends_on_the_selection() -> None:
    assert not [one.id for one in SCENARIO.plan(0, 1).rubric.milestones if "selection" in one.id]
