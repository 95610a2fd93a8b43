"""`companyos check`: the scenarios that it selects, and its exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.bug_escalation.scenario import SCENARIO, BugEscalation
from companyos_gateway.services import ServiceRules
from verification import check, check_targets, plan_determinism, structures
from verification.check_targets import TargetError, find_scenarios
from verification.proof.rows import Line

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
