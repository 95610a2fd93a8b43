"""Evidence of solved episodes, played once for all tests that use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from companyos_gateway.scenarios import catalogue
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, PlayAll, open_player
from tests.scenarios.oracle_traces import OracleTrace, both_traces
from verification.proof import RecordedEpisode

CALM = {"stale_metric": 1.0, "missing_priority": 1.0, "approver_out_of_office": 1.0}
HARD = {
    **CALM,
    "missing_assignee": 1.0,
    "blocked_ticket": 1.0,
    "conflicting_sources": 1.0,
    "similar_names": 1.0,
    "superseded_policy": 1.0,
    "expired_delegation": 1.0,
    "limit_too_low": 1.0,
    "information_request": 1.0,
    "random_rejection": 1.0,
}


@pytest.fixture(scope="session")
def play_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayAll]:
    """Function that plays episodes on an engine shared by all tests."""
    with open_player(tmp_path_factory.mktemp("event-loop")) as opened:
        yield opened


@pytest.fixture(scope="module", params=sorted(catalogue()))
def ways(request: pytest.FixtureRequest, play_all: PlayAll) -> list[OracleTrace]:
    """The ways through a feasible instance and one that must be refused."""
    return both_traces(play_all, request.param)


@pytest.fixture(scope="session")
def solved(play_all: PlayAll) -> dict[str, RecordedEpisode]:
    """An easy instance, a hard one and one that must be refused, each solved by the fair oracle."""
    fair = fair_player("vendor_onboarding")
    specs = {
        "easy": EpisodeSpec(player=fair, seed=3, chaos=0, overrides=CALM),
        "hard": EpisodeSpec(player=fair, seed=4, chaos=0, overrides=HARD),
        "refused": EpisodeSpec(player=fair, seed=1, chaos=2, overrides={"unavailable": 0.0}),
        "other": EpisodeSpec(player=fair, seed=5, chaos=0, overrides=CALM),
    }
    kept = play_all(list(specs.values()))
    return dict(zip(specs, kept, strict=True))
