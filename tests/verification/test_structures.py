"""`companyos check` plays every variant and every ground for a refusal that occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from companyos_gateway.chaos import Profile
from companyos_gateway.scenarios.access_request.scenario import SCENARIO, AccessRequest, Variant
from companyos_gateway.scenarios.blocks.task import BuiltTask
from companyos_gateway.scenarios.catalogue import ScenarioError
from verification import structures
from verification.check import check_scenarios
from verification.proof import execution
from verification.proof.rows import Job, Tally
from verification.structures import STRUCTURE_LEVEL, first_seeds

NAME = SCENARIO.name


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The first seeds of the scenario's structures among a few seeds."""
    monkeypatch.setattr(structures, "SEARCHED_SEEDS", 40)
    return first_seeds(SCENARIO)


def test_the_first_seed_of_each_variant_and_reason_code_is_found(found: Mapping[str, int]) -> None:
    codes = ("duplicate", "not_entitled", "policy_violation", "requirement_not_met")
    assert found.keys() == {*Variant, *(f"refused: {code}" for code in codes)}
    assert found["refused: requirement_not_met"] == 0
    for structure, seed in found.items():
        case = SCENARIO.plan(seed, STRUCTURE_LEVEL)
        assert structure.startswith("refused: ") or case.variant == structure


def test_the_oracles_play_each_structure_once(found: Mapping[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Job] = []

    def run_jobs(jobs: Sequence[Job], _processes: int) -> Mapping[str, list[Tally]]:
        run.extend(jobs)
        return {}

    monkeypatch.setattr(execution, "run_jobs", run_jobs)
    check_scenarios({NAME: found}, seeds=3, processes=1)
    played = [job.seed for job in run if (job.row, job.part, job.level) == ("A", "oracles", STRUCTURE_LEVEL)]
    assert sorted(played) == sorted({0, 1, 2, *found.values()})


class RarelyBroken(AccessRequest):
    """Access requests of which one cannot be staged."""

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask:
        """Fail for one seed, and stage the same request for all others."""
        if seed == 17:
            raise KeyError("systems")
        return SCENARIO.build(0, profile, overrides)


def test_a_seed_without_an_instance_is_reported() -> None:
    with pytest.raises(ScenarioError, match=rf"^{NAME}/scenario\.py: seed 17 cannot be staged: KeyError: 'systems'"):
        first_seeds(RarelyBroken())


class Misspelled(AccessRequest):
    """Access requests that hold out a variant that does not occur."""

    held_out = frozenset({"own_systm"})

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask:
        """Stage the request of the scenario."""
        return SCENARIO.build(seed, profile, overrides)


def test_a_held_out_variant_that_does_not_occur_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structures, "SEARCHED_SEEDS", 3)
    reason = rf"^{NAME}/scenario\.py: held_out: .* 3 seeds has the variant 'own_systm'; there are own_system, refused: "
    with pytest.raises(ScenarioError, match=reason):
        first_seeds(Misspelled())
