"""Final states of every scenario: a correct one with one error is rejected, an equivalent one is accepted."""

from __future__ import annotations

import pytest

from tests.scenarios.oracle_traces import OracleTrace
from verification.proof.bounds import MIN_NAMED, MIN_RIGHT, MIN_WRONG
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.invalid_mutations import invalid_mutations
from verification.proof.final_states.valid_mutations import valid_mutations
from verification.proof.rows.verifier import judge_all

pytestmark = pytest.mark.matrix


def test_every_invalid_final_state_is_rejected_with_the_reason(ways: list[OracleTrace]) -> None:
    for way, foreign in zip(ways, reversed(ways), strict=True):
        judged = list(judge_all(way.kept, invalid_mutations(way.kept, foreign.kept)))
        assert [one.name for one in judged if one.verdict.success] == [], (way.scenario, way.seed)
        assert [one.name for one in judged if not one.is_explained] == [], (way.scenario, way.seed)
        misnamed = [one.name for one in judged if not one.is_named]
        assert len(misnamed) <= len(judged) * (1 - MIN_NAMED), (way.scenario, way.seed, misnamed)
        assert len(judged) >= MIN_WRONG


def test_every_valid_final_state_is_accepted(ways: list[OracleTrace]) -> None:
    for way in ways:
        judged = list(judge_all(way.kept, valid_mutations(way.kept)))
        assert [one.name for one in judged if not one.verdict.success] == [], (way.scenario, way.seed)
        assert all(one.verdict.primary_failure is None for one in judged)
        assert len(judged) >= MIN_RIGHT


def test_a_refusal_by_an_agent_that_was_shown_nothing_is_rejected(ways: list[OracleTrace]) -> None:
    refused = FinalState(ways[1].kept)
    assert refused.judge().success
    for lines in refused.audits.values():
        for line in lines:
            line.pop("response", None)
    assert not refused.judge().success
