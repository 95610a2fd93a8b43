"""Ends of EVERY scenario: a right one bent in one place is rejected, one that is as good is accepted."""

from __future__ import annotations

import pytest

from companyos_gateway.proof import Kept
from companyos_gateway.proof.bounds import LEAST_RIGHT, LEAST_WRONG
from companyos_gateway.proof.states.bends import Bends
from companyos_gateway.proof.states.ending import Ending
from companyos_gateway.proof.states.right import AS_IT_WAS, right_bends
from companyos_gateway.proof.states.wrong import wrong_bends
from companyos_gateway.scenarios import catalogue
from tests.scenarios.stage import PlayAll
from tests.scenarios.ways import Way, both_ways


@pytest.fixture(scope="module", params=sorted(catalogue()))
def ways(request: pytest.FixtureRequest, play_all: PlayAll) -> list[Way]:
    """The ways through a feasible instance and one that must be refused."""
    return both_ways(play_all, request.param)


def test_every_wrong_end_is_rejected(ways: list[Way]) -> None:
    for way, foreign in zip(ways, reversed(ways), strict=True):
        verdicts = _judged(way.kept, wrong_bends(way.kept, foreign.kept))
        assert [name for name, success in verdicts.items() if success] == [], (way.scenario, way.seed)
        assert len(verdicts) >= LEAST_WRONG


def test_every_right_end_is_accepted(ways: list[Way]) -> None:
    for way in ways:
        verdicts = _judged(way.kept, right_bends(way.kept))
        assert [name for name, success in verdicts.items() if not success] == [], (way.scenario, way.seed)
        assert len(verdicts) >= LEAST_RIGHT


def _judged(kept: Kept, bends: Bends) -> dict[str, bool]:
    """Return whether each end is accepted that differs from the one that was recorded."""
    verdicts = {}
    for name, bend in bends:
        ending = Ending(kept)
        bend(ending)
        if name == AS_IT_WAS or not ending.is_as(kept):
            verdicts[name] = ending.judge().success
    return verdicts
