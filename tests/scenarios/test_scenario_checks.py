"""A scenario or profile that cannot be played is rejected before anything starts, with the file and the place."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import companyos_gateway
from companyos_gateway.chaos import Group, Kind, Profile
from companyos_gateway.evaluation import Check, TaskRubric
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.access_request.scenario import SCENARIO as ACCESS_REQUEST
from companyos_gateway.scenarios.access_request.scenario import AccessRequest
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.task import BegunTask, BuiltTask, ScenarioCase
from companyos_gateway.scenarios.blocks.texts import TextTable
from companyos_gateway.scenarios.catalogue import ScenarioError
from companyos_gateway.scenarios.license_renewal.scenario import SCENARIO, LicenseRenewal
from companyos_gateway.scenarios.validation import check_brief_formats, check_catalogue, check_scenarios
from companyos_shared.wire.company import Company

NAME = "license_renewal"
PACKAGE = Path(companyos_gateway.__file__).parent


class Renewal(LicenseRenewal):
    """License renewals with the words of the scenario."""

    def texts(self) -> dict[str, Any]:
        """Return the scenario's texts.toml."""
        return SCENARIO.texts()


class Reworded(Renewal):
    """License renewals whose brief says more than it may."""

    def __init__(self, more: Callable[[BuiltTask], str]) -> None:
        self._more = more

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask:
        """Stage a renewal with an extended brief."""
        built = super().build(seed, profile, overrides)
        return replace(built, brief=f"{built.brief} {self._more(built)}")


class Idle(Renewal):
    """License renewals that are done when nothing is done."""

    def rubric(self, case: ScenarioCase, company: Company) -> TaskRubric:
        """Return a rubric that fails."""
        return TaskRubric(
            checks=[Check("still-there", True, lambda _evidence: None)],
            milestones=[],
            declaration=lambda _evidence, _finish: None,
            damage=lambda _evidence: [],
            rejections=lambda _evidence: 0,
            is_closed=lambda _evidence: False,
        )


class Broken(Renewal):
    """License renewals that nobody can stage."""

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask:
        """Stage nothing."""
        raise KeyError("days")


class Unstaffed(Renewal):
    """License renewals of an unknown team."""

    team = "licenses"


class WithoutText(Renewal):
    """License renewals whose policy lacks titles."""

    def texts(self) -> dict[str, Any]:
        """Return the scenario's texts.toml without the titles of the policy."""
        return TextTable({**super().texts(), "policy": {"body": ""}})


class Misstated(AccessRequest):
    """Access requests whose policy states a word in place of a figure."""

    def texts(self) -> dict[str, Any]:
        """Return the scenario's texts.toml with a fixed priority."""
        texts = ACCESS_REQUEST.texts()
        policy = {**texts["policy"], "body": texts["policy"]["body"].replace("{internal_priority}", "high")}
        return {**texts, "policy": policy}


class Unsteady(Renewal):
    """License renewals with another ticket in each plan of a seed."""

    def __init__(self) -> None:
        self._plans = 0

    def begin_task(self, build: BuildContext) -> BegunTask:
        """Add the task, with the number of the plan in its ticket."""
        begun = super().begin_task(build)
        self._plans += 1
        begun.ticket.ticket.description += f" ({self._plans})"
        return begun


class RequiredDistractor(Renewal):
    """License renewals with a needed tool as distractor."""

    distractors = ("ticketdesk_get_ticket", *LicenseRenewal.distractors[1:])


class Misnamed(Renewal):
    """License renewals with another checklist item."""

    def __init__(self, text: str, *names: str) -> None:
        self._item = {"text": text, "shows": list(names)}

    def texts(self) -> dict[str, Any]:
        """Return the scenario's texts.toml with the item."""
        words = super().texts()
        return words | {"checklists": words["checklists"] | {"added": [*words["checklists"]["short"], self._item]}}


def test_a_policy_that_does_not_state_a_figure_is_rejected() -> None:
    place = r"^access_request/texts\.toml: policy\.body: does not state the figure {internal_priority}$"
    with pytest.raises(ScenarioError, match=place):
        check_scenarios({"access_request": Misstated()})


@pytest.mark.parametrize("name", ["product", "invoice"])
def test_a_checklist_item_that_names_no_row_is_rejected_with_the_accepted_names(name: str) -> None:
    accepted = "approval_type, license, license_days_left, policy, ticket, vendor_id"
    place = rf"^{NAME}/texts\.toml: checklists\.added\[2\]\.shows: must name a row by one of {accepted}; got '{name}'$"
    with pytest.raises(ScenarioError, match=place):
        check_scenarios({NAME: Misnamed("Product checked", "policy", name)})


def test_a_checklist_item_that_names_other_rows_in_another_list_is_rejected() -> None:
    place = rf"^{NAME}/texts\.toml: checklists\.added\[2\]\.shows: must be \['policy'\] as for the same text before;"
    with pytest.raises(ScenarioError, match=place):
        check_scenarios({NAME: Misnamed("Current policy read", "license")})


@pytest.mark.parametrize(
    "more",
    [
        lambda built: built.case.facts.record.id,
        lambda built: built.case.facts.vendor.id,
        lambda built: built.world.staff.people[3].name,
        lambda built: built.world.datahub.vendors[0].name,
        lambda built: built.world.datahub.records[0].title,
        lambda built: str(built.case.facts.amount_cents),
        lambda _built: "It costs 4,500.",
    ],
)
def test_a_brief_that_names_a_fact_is_rejected(more: Callable[[BuiltTask], str]) -> None:
    with pytest.raises(ScenarioError, match=rf"^{NAME}/texts\.toml: briefs: .* names "):
        check_scenarios({NAME: Reworded(more)})


def _write_brief(root: Path, words: str) -> None:
    """Copy the folder of a scenario with these words in one of its briefs."""
    texts = Path(shutil.copytree(PACKAGE / "scenarios" / NAME, root / NAME)) / "texts.toml"
    texts.write_text(texts.read_text().replace("that one of our teams wants to keep", f"that {words} wants to keep"))


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ("Zofia Vargas", "names 'Zofia Vargas'"),
        ("Zofia  Vargas", "names 'Zofia Vargas'"),
        ("LIC-77", "names LIC-77"),
        ("4,500 of ours", "names the figure 4,500"),
        ("team 7", "names the figure 7"),
    ],
)
def test_a_brief_with_an_invalid_placeholder_is_rejected_with_its_location(
    tmp_path: Path, more: str, fault: str
) -> None:
    _write_brief(tmp_path, more)
    with pytest.raises(ScenarioError, match=rf"^{NAME}/texts\.toml: briefs\[3\]: {fault}$"):
        check_scenarios({NAME: LicenseRenewal()}, tmp_path)


@pytest.mark.parametrize(
    ("slot", "fault"),
    [
        ("{key:d}", "Unknown format code 'd'"),
        ("{key!z}", "Unknown conversion specifier z"),
        ("{", "unexpected '{' in field name"),
    ],
)
def test_a_brief_with_an_invalid_format_is_rejected_with_its_location(tmp_path: Path, slot: str, fault: str) -> None:
    _write_brief(tmp_path, slot)
    with pytest.raises(ScenarioError, match=rf"^{NAME}/texts\.toml: briefs\[3\]: {fault}"):
        check_brief_formats(tmp_path)


@pytest.mark.parametrize(
    ("scenario", "output"),
    [
        (Idle(), rf"^{NAME}/scenario\.py: no check fails when nothing is done"),
        (
            Broken(),
            rf"^{NAME}/scenario\.py: seed 0 cannot .*: KeyError: 'days' \(test_.*\.py, line \d+, in build\)$",
        ),
        (WithoutText(), rf"^{NAME}/scenario\.py: seed 0 cannot .*: texts\.toml has no 'policy\.titles'"),
        (Unstaffed(), rf"^{NAME}/scenario\.py: seed 0 cannot .*: team must be one of data, .*; got 'licenses'$"),
        (Unsteady(), rf"^{NAME}/scenario\.py: two plans of seed 0 differ; random values must come from the stream"),
        (RequiredDistractor(), rf"^{NAME}/scenario\.py: distractors: 'ticketdesk_get_ticket' is one of the tools"),
    ],
)
def test_a_scenario_that_cannot_be_judged_or_built_is_rejected(scenario: LicenseRenewal, output: str) -> None:
    with pytest.raises(ScenarioError, match=output):
        check_scenarios({NAME: scenario})


def test_every_scenario_of_the_catalogue_is_valid() -> None:
    check_catalogue()
    check_scenarios(catalogue())


def _damage_scenario(package: Path) -> None:
    (package / "scenarios" / NAME / "README.md").unlink()


def _damage_profile(package: Path) -> None:
    file = package / "chaos" / "profiles" / "storm.toml"
    file.write_text(file.read_text().replace("stale_metric", "stale_matric"))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("damage", "output"),
    [
        (_damage_scenario, f"error: {NAME}/README.md: missing"),
        (
            _damage_profile,
            "error: storm.toml: data.stale_matric: unknown kind 'stale_matric'; the kinds of data are "
            + ", ".join(kind for kind in Kind if kind.group is Group.DATA),
        ),
    ],
)
def test_the_gateway_does_not_start_and_reports_the_reason_in_one_line(
    tmp_path: Path, damage: Callable[[Path], None], output: str
) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    package = Path(shutil.copytree(PACKAGE, tmp_path / "companyos_gateway", ignore=ignored))
    damage(package)
    done = subprocess.run(
        [sys.executable, "-m", "companyos_gateway", "--port", "1"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.strip()) == (2, output)
