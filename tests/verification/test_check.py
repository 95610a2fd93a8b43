"""`companyos check`: the scenarios that it selects, the structures that it plays, and its exit status."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos_gateway.chaos import Profile
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.access_request import scenario as access_request
from companyos_gateway.scenarios.access_request.scenario import AccessRequest, Variant
from companyos_gateway.scenarios.blocks.task import BuiltTask
from companyos_gateway.scenarios.bug_escalation.scenario import SCENARIO, BugEscalation
from companyos_gateway.scenarios.catalogue import ScenarioError, _discovered
from companyos_gateway.scenarios.license_renewal import scenario as license_renewal
from companyos_gateway.scenarios.validation import check_scenarios as validate_scenarios
from companyos_gateway.services import ServiceRules
from verification import check, check_targets, plan_determinism, structures
from verification.check import check_scenarios
from verification.check_targets import TargetError, find_scenarios
from verification.plan_determinism import check_determinism
from verification.proof import execution
from verification.proof.rows import Job, Line, Tally
from verification.structures import STRUCTURE_LEVEL, first_seeds

RUNNER = CliRunner()
MANIFEST = """
[project]
name = "acme"

[project.entry-points."companyos.scenarios"]
{name} = "acme:SCENARIO"
"""


class Misspelled(BugEscalation):
    """Bug escalations with a distractor that does not exist."""

    distractors = (*BugEscalation.distractors[1:], "datahub_report_data_isue")

    def texts(self) -> dict[str, Any]:
        """Return the scenario's texts.toml."""
        return SCENARIO.texts()


def _line(*, holds: bool) -> Line:
    return Line(row="A", promise="both oracles succeed", n=1, result="1 violation", seed="0", holds=holds)


@pytest.mark.parametrize(("holds", "status", "result"), [(True, 0, "all lines hold"), (False, 1, "1 line of 2 failed")])
def test_the_exit_status_says_whether_all_checks_pass(
    monkeypatch: pytest.MonkeyPatch, holds: bool, status: int, result: str
) -> None:
    monkeypatch.setattr(plan_determinism, "check_determinism", lambda _: None)
    monkeypatch.setattr(structures, "first_seeds", lambda _: {"shortened": 4})
    monkeypatch.setattr(check, "check_scenarios", lambda *_: [_line(holds=True), _line(holds=holds)])
    answer = RUNNER.invoke(app, ["check", "bug_escalation"])
    assert answer.exit_code == status
    assert "bug_escalation: structures played: shortened" in answer.output
    assert f"bug_escalation: {result}" in answer.output


def test_a_built_in_scenario_is_found_by_its_name() -> None:
    assert find_scenarios("bug_escalation") == ("bug_escalation",)


def test_an_unknown_scenario_name_is_rejected() -> None:
    with pytest.raises(TargetError, match=r"'parking' is neither a folder with a pyproject.toml nor one of .*bug_esc"):
        find_scenarios("parking")


def test_an_unknown_scenario_name_is_a_usage_error() -> None:
    answer = RUNNER.invoke(app, ["check", "parking"])
    assert (answer.exit_code, "'parking' is neither a folder" in answer.stderr) == (2, True)


def test_a_folder_whose_package_is_not_installed_is_rejected_with_the_install_command(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(name="parking"))
    with pytest.raises(TargetError, match=f"'parking' is not installed: .*pip install .*-e {tmp_path}"):
        find_scenarios(str(tmp_path))


def test_a_folder_of_another_copy_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(MANIFEST.format(name="bug_escalation"))
    with pytest.raises(TargetError, match=r"'bug_escalation' is installed in .*, not from this folder: "):
        find_scenarios(str(tmp_path))


def test_a_folder_without_scenarios_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "acme"\n')
    with pytest.raises(TargetError, match=r"has no entry points in the group companyos\.scenarios"):
        find_scenarios(str(tmp_path))


def test_a_scenario_without_players_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios = catalogue()
    monkeypatch.setattr(check_targets, "catalogue", lambda: {**scenarios, "parking": scenarios["bug_escalation"]})
    with pytest.raises(TargetError, match="'parking' has no players"):
        find_scenarios("parking")


def test_a_tool_that_does_not_exist_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_targets, "catalogue", lambda: {"bug_escalation": Misspelled()})
    reason = r"^bug_escalation/scenario\.py: distractors: no service has the tool 'datahub_report_data_isue'$"
    with pytest.raises(TargetError, match=reason):
        find_scenarios("bug_escalation")


def test_a_protected_table_that_does_not_exist_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {"datahub": ServiceRules(protected_tables=frozenset({"polices"}))}
    monkeypatch.setattr(check_targets, "service_rules", lambda: rules)
    reason = r"^rules of the service datahub: protected_tables: must be of the tables .*, policies, .*; got 'polices'$"
    with pytest.raises(TargetError, match=reason):
        find_scenarios("bug_escalation")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The first seeds of the scenario's structures among a few seeds."""
    monkeypatch.setattr(structures, "SEARCHED_SEEDS", 40)
    return first_seeds(access_request.SCENARIO)


def test_the_first_seed_of_each_variant_and_reason_code_is_found(found: Mapping[str, int]) -> None:
    codes = ("duplicate", "not_entitled", "policy_violation", "requirement_not_met")
    assert found.keys() == {*Variant, *(f"refused: {code}" for code in codes)}
    assert found["refused: requirement_not_met"] == 0
    for structure, seed in found.items():
        case = access_request.SCENARIO.plan(seed, STRUCTURE_LEVEL)
        assert structure.startswith("refused: ") or case.variant == structure


def test_the_oracles_play_each_structure_once(found: Mapping[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Job] = []

    def run_jobs(jobs: Sequence[Job], _processes: int) -> Mapping[str, list[Tally]]:
        run.extend(jobs)
        return {}

    monkeypatch.setattr(execution, "run_jobs", run_jobs)
    check_scenarios({"access_request": found}, seeds=3, processes=1)
    played = [job.seed for job in run if (job.row, job.part, job.level) == ("A", "oracles", STRUCTURE_LEVEL)]
    assert sorted(played) == sorted({0, 1, 2, *found.values()})


class RarelyBroken(AccessRequest):
    """Access requests of which one cannot be staged."""

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask:
        """Fail for one seed, and stage the same request for all others."""
        if seed == 17:
            raise KeyError("systems")
        return access_request.SCENARIO.build(0, profile, overrides)


def test_a_seed_without_an_instance_is_reported() -> None:
    with pytest.raises(
        ScenarioError, match=r"^access_request/scenario\.py: seed 17 cannot be staged: KeyError: 'systems'"
    ):
        first_seeds(RarelyBroken())


class MisspelledVariant(AccessRequest):
    """Access requests that hold out a variant that does not occur."""

    held_out = frozenset({"own_systm"})

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask:
        """Stage the request of the scenario."""
        return access_request.SCENARIO.build(seed, profile, overrides)


def test_a_held_out_variant_that_does_not_occur_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structures, "SEARCHED_SEEDS", 3)
    reason = r"/scenario\.py: held_out: .* 3 seeds has the variant 'own_systm'; there are own_system, refused: "
    with pytest.raises(ScenarioError, match=reason):
        first_seeds(MisspelledVariant())


OFFICE, PACKAGE = "office_license", "acme_office"
OFFICE_MODULE = """
from dataclasses import replace

from companyos_gateway.scenarios.license_renewal.scenario import LicenseRenewal


class OfficeLicense(LicenseRenewal):
    name = "office_license"

    def build(self, seed, profile, overrides):
        built = super().build(seed, profile, overrides)
        letters = set("abcdefghijklmnopqrstuvwxyz")
        return replace(built, brief=f"{built.brief} {' '.join(letters)}")


SCENARIO = OfficeLicense()
"""


@pytest.fixture
def unsorted_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a scenario whose brief depends on the order of a set."""
    package, info = tmp_path / PACKAGE, tmp_path / f"{PACKAGE}-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text(OFFICE_MODULE)
    shutil.copy(Path(license_renewal.__file__).parent / "texts.toml", package)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[companyos.scenarios]\n{OFFICE} = {PACKAGE}:SCENARIO\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    _discovered.cache_clear()
    yield
    _discovered.cache_clear()
    sys.modules.pop(PACKAGE)


@pytest.mark.integration
@pytest.mark.usefixtures("unsorted_set")
def test_an_instance_that_depends_on_the_hash_seed_is_reported() -> None:
    validate_scenarios({OFFICE: catalogue()[OFFICE]})
    with pytest.raises(
        ScenarioError, match=rf"^{OFFICE}/scenario\.py: two plans of seed 0 differ; .* sets must be sort"
    ):
        check_determinism([OFFICE])


@pytest.mark.integration
def test_a_built_in_scenario_is_planned_alike_by_two_processes() -> None:
    check_determinism(["bug_escalation"])
