"""Ends of EVERY scenario: a right one bent in one place is rejected, one that is as good is accepted."""

from __future__ import annotations

import pytest

from companyos_gateway.scenarios import catalogue
from tests.scenarios.engine import PlayAll
from tests.scenarios.oracle_traces import OracleTrace, both_traces
from verification.proof import RecordedEpisode
from verification.proof.bounds import LEAST_RIGHT, LEAST_WRONG
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.invalid_mutations import invalid_mutations
from verification.proof.final_states.mutations import NamedMutations
from verification.proof.final_states.valid_mutations import AS_IT_WAS, valid_mutations

pytestmark = pytest.mark.matrix


@pytest.fixture(scope="module", params=sorted(catalogue()))
def ways(request: pytest.FixtureRequest, play_all: PlayAll) -> list[OracleTrace]:
    """The ways through a feasible instance and one that must be refused."""
    return both_traces(play_all, request.param)


def test_every_wrong_end_is_rejected(ways: list[OracleTrace]) -> None:
    for way, foreign in zip(ways, reversed(ways), strict=True):
        verdicts = _judged(way.kept, invalid_mutations(way.kept, foreign.kept))
        assert [name for name, success in verdicts.items() if success] == [], (way.scenario, way.seed)
        assert len(verdicts) >= LEAST_WRONG


def test_every_right_end_is_accepted(ways: list[OracleTrace]) -> None:
    for way in ways:
        verdicts = _judged(way.kept, valid_mutations(way.kept))
        assert [name for name, success in verdicts.items() if not success] == [], (way.scenario, way.seed)
        assert len(verdicts) >= LEAST_RIGHT


def test_a_refusal_by_an_agent_that_was_shown_nothing_is_rejected(ways: list[OracleTrace]) -> None:
    refused = FinalState(ways[1].kept)
    assert refused.judge().success
    for lines in refused.audits.values():
        for line in lines:
            line.pop("response", None)
    assert not refused.judge().success


def _judged(kept: RecordedEpisode, mutations: NamedMutations) -> dict[str, bool]:
    """Return whether each end is accepted that differs from the one that was recorded."""
    verdicts = {}
    for name, mutate in mutations:
        final_state = FinalState(kept)
        mutate(final_state)
        if name == AS_IT_WAS or not final_state.is_unchanged(kept):
            verdicts[name] = final_state.judge().success
    return verdicts
