"""No two instances are the same, neither within a split nor across splits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from companyos.contract import Split
from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks.__main__ import main
from companyos_gateway.tasks.collisions import find_collisions, sample
from companyos_gateway.tasks.task_set import TASK_SET_REVISION
from companyos_gateway.world.splits import split_of_seed
from tests.gateway.notes import NoteKeeping

pytestmark = pytest.mark.matrix

LARGE = 100_000


class AlwaysTheSame(NoteKeeping):
    """A scenario that ignores its seed."""

    def plan(self, seed_: int, chaos: int, overrides: object = None) -> object:  # type: ignore[override]
        """Plan the instance of seed 1, whatever the seed."""
        return replace(super().plan(1, 1), seed=seed_, chaos=chaos)


def test_a_sample_covers_every_scenario_and_split_without_repeats() -> None:
    keys = list(sample(["one", "two", "three"], 1200))
    assert len(set(keys)) == len(keys)
    assert {key.scenario for key in keys} == {"one", "two", "three"}
    assert {split_of_seed(key.seed) for key in keys} == {None, *Split}
    assert {key.chaos for key in keys} == set(range(5))


def test_all_instances_of_a_sample_are_different() -> None:
    count = 8 * len(catalogue())
    result = find_collisions(count)
    assert (result.instances, result.collisions) == (count, [])


def test_equal_instances_are_detected() -> None:
    forgetful: Any = AlwaysTheSame()
    result = find_collisions(5, scenarios={"note_keeping": forgetful})
    assert len(result.collisions) == 4


def test_the_command_reports_the_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--instances", "4", "--processes", "1"]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"task set {TASK_SET_REVISION}.")
    assert "0 collisions in 4 instances" in output


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_instances_are_different() -> None:
    assert main(["--instances", str(LARGE)]) == 0
