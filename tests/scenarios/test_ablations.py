"""Players that ignore a kind of chaos fail if it is decisive, and lose reward if it is friction."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import Kind, Mark, profile_for
from companyos_gateway.chaos.kinds import EXCLUDES
from companyos_players.registry import ablation_of, fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll

PLAYED = "license_renewal"
SEED = 2
DECISIVE = [kind for kind in Kind if profile_for(4).mark(kind) is Mark.DECISIVE]
OF_THE_SCENARIO = {Kind.SIMILAR_NAMES}
"""Kinds whose ablation is one of the scenario's own adversaries, because the similar names are the scenario's."""

MORE_TO_READ = {
    Kind.DUPLICATE_TICKET,
    Kind.DISTRACTOR_TICKETS,
    Kind.REWORDED_TOOLS,
    Kind.COLLEAGUE_COMMENTS,
    Kind.NEW_TICKETS,
}
"""Kinds that only cost attention: more texts to read, or other wordings."""

MORE_TO_WAIT = {Kind.FAILED_PIPELINE, Kind.SLOW_DECISION, Kind.SLOW_ANSWER}
"""Kinds that cost time and steps; no player can ignore them."""


def _alone(kind: Kind) -> dict[str, float]:
    """Return the overrides that apply a kind and exclude those that are incompatible with it."""
    others = {one.value: 0.0 for pair in EXCLUDES for one in pair if kind in pair}
    return {**others, kind.value: 1.0}


def test_every_kind_has_an_ablated_player_or_costs_steps() -> None:
    known = {kind for kind in Kind if ablation_of(PLAYED, kind) is not None}
    assert known | OF_THE_SCENARIO | MORE_TO_READ | MORE_TO_WAIT == set(Kind)
    assert not known & (MORE_TO_READ | MORE_TO_WAIT)


@pytest.mark.sample(6)
@pytest.mark.parametrize("kind", [kind for kind in DECISIVE if kind not in OF_THE_SCENARIO])
def test_a_player_without_a_decisive_ability_fails_under_that_kind(play_all: PlayAll, kind: Kind) -> None:
    player = ablation_of(PLAYED, kind)
    assert player is not None
    (kept,) = play_all([EpisodeSpec(scenario=PLAYED, player=player, seed=SEED, chaos=0, overrides=_alone(kind))])
    assert kind in kept.result.kinds
    assert not kept.result.success


@pytest.mark.parametrize("kind", [Kind.UNAVAILABLE, Kind.RATE_LIMITED, Kind.FORBIDDEN, Kind.STALE_READ])
def test_a_player_that_ignores_transport_faults_has_a_lower_return_under_them(kind: Kind, play_all: PlayAll) -> None:
    player = ablation_of(PLAYED, kind)
    assert player is not None
    specs = [
        EpisodeSpec(scenario=PLAYED, player=player, seed=SEED, chaos=0, overrides={kind.value: rate})
        for rate in (0.0, 1.0)
    ]
    calm, bad = play_all(specs)
    assert bad.result.return_ < calm.result.return_


@pytest.mark.parametrize("kind", sorted(MORE_TO_WAIT))
def test_a_kind_without_an_ablated_player_takes_more_time(kind: Kind, play_all: PlayAll) -> None:
    fair = fair_player(PLAYED)
    needed = {Kind.STALE_METRIC.value: 1.0} if kind is Kind.FAILED_PIPELINE else {}
    specs = [
        EpisodeSpec(scenario=PLAYED, player=fair, seed=SEED, chaos=0, overrides={**needed, kind.value: rate})
        for rate in (0.0, 1.0)
    ]
    calm, affected = ([line.at for line in kept.evidence.audits("ticketdesk")][-1] for kept in play_all(specs))
    assert affected > calm
